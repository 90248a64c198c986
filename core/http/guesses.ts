import type { Credentials, GuessBound } from "../plugin/authentication.ts";
import type { Json } from "../kit/types.ts";
import { GatewayError } from "../kit/errors.ts";
import { Buckets } from "../kit/buckets.ts";
import { Recent } from "../kit/recent.ts";
import { bearerOf, readBearer, readUnprovenClaims } from "./authorization.ts";
import { digestOf } from "../kit/digest.ts";

/** A try whose outcome is not known yet; one of the three ends it. */
export interface PendingCheck {
  /** The credentials were right: they meet no bound again. */
  right(): void;
  /** It is not known whether they were, or there were none. */
  unknown(): void;
  wrong(): void;
}

/** Time in which failures are counted, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Addresses, and beginnings of tokens, whose failures are counted. */
const MAX_COUNTED = 10_000;
/** Credentials that are remembered as right. */
const MAX_RIGHT = 20_000;
/** How long they are, in milliseconds. */
const RIGHT_MS = 86_400_000;
/** As many characters as tell tokens apart and help nobody to guess one: of `ppt_<8 characters>_...` what is in front of the secret. */
const MAX_BEGINNING = 12;

/** Signed credentials that are looked at in a second above the bound, from one address and in all: a check takes about 0.1 ms. */
const SIGNED_PER_ADDRESS = 20;
const SIGNED_IN_ALL = 500;

/** Tries that may be looked at together, for each wrong one that is let through: those who come back after a restart all at once are right. */
const PENDING_PER_FAILURE = 10;

const NONE: PendingCheck = { right: () => {}, unknown: () => {}, wrong: () => {} };
const isNotSigned = (): boolean => false;

/**
 * Slows down who guesses credentials: wrong ones are counted by address and by how they begin, before anything is looked up.
 *
 * A holder of right ones is not to suffer from a guesser at the same address (an office, a proxy in front): credentials that were
 * right within a day meet no bound, and nor do fresh tokens of a subject that was right at this address; those meet the
 * bound of their own beginning alone. Nobody guesses a signature, so signed ones are looked at above the bound too, as many as cost
 * little: a client with a right one gets in, and a forger gets no more of the CPU than that.
 */
export class Guesses {
  readonly #failures = new Failures();
  readonly #signedHere = new Buckets(SIGNED_PER_ADDRESS, 1_000 / SIGNED_PER_ADDRESS, MAX_COUNTED);
  readonly #signed = new Buckets(SIGNED_IN_ALL, 1_000 / SIGNED_IN_ALL);
  /** When credentials were right last: digests of them, and beginnings with the address they came from. */
  readonly #right = new Recent<number>(MAX_RIGHT);
  readonly #throttled: (by: GuessBound) => void;

  /** @param throttled told of every request that is refused for the wrong ones before it */
  constructor(throttled: (by: GuessBound) => void) {
    this.#throttled = throttled;
  }

  /**
   * Begins a try, before anybody is asked.
   * @param maxFailures per minute; 0 = any number
   * @param isSigned whether nobody finds right ones by trying
   * @throws {GatewayError} `rate_limited` with `Retry-After`
   */
  begin(credentials: Credentials, maxFailures: number, isSigned = isNotSigned): PendingCheck {
    if (maxFailures === 0) return NONE;
    const text = textOf(credentials);
    const digest = text === undefined ? undefined : digestOfSent(credentials, text);
    if (digest !== undefined && this.#wasRight(digest)) return NONE;
    const address = placeOf(credentials.remoteAddress);
    return this.#count({ address, text, digest, maxFailures, isSigned });
  }

  #count({ address, text, digest, maxFailures, isSigned }: Try): PendingCheck {
    const beginning = text === undefined ? undefined : beginningOf(text, address);
    const isKnownHere = beginning !== undefined && this.#wasRight(`${address} ${beginning}`);
    const keys = [
      ...(beginning === undefined ? [] : ([["token", beginning]] as const)),
      ...(isKnownHere ? [] : ([["address", address]] as const)),
    ].map(([by, key]) => ({ by, key: `${by} ${key}` }));
    const waits = keys.map((each) => ({
      ...each,
      wait: this.#failures.waitOf(each.key, maxFailures),
    }));
    const met = waits.find(({ wait }) => wait > 0);
    if (met && !(isSigned() && this.#mayLook(address))) {
      this.#throttled(met.by);
      throw refusal(met.wait);
    }
    for (const { key } of keys) this.#failures.begin(key, maxFailures);
    const end = (isWrong: boolean): void => {
      for (const { key } of keys) this.#failures.end(key, isWrong, maxFailures);
    };
    return {
      unknown: () => end(false),
      wrong: () => end(true),
      right: () => {
        end(false);
        if (digest === undefined) return;
        this.#right.set(digest, Date.now());
        this.#right.set(`${address} ${beginning}`, Date.now());
      },
    };
  }

  #mayLook(address: string): boolean {
    const now = performance.now();
    return this.#signedHere.take(address, now) === 0 && this.#signed.take("", now) === 0;
  }

  #wasRight(key: string): boolean {
    const at = this.#right.get(key);
    return at !== undefined && Date.now() - at < RIGHT_MS;
  }
}

/** A try, with what it is counted by. */
interface Try {
  readonly address: string;
  readonly text: string | undefined;
  readonly digest: string | undefined;
  readonly maxFailures: number;
  readonly isSigned: () => boolean;
}

interface Bucket {
  /** Wrong ones that are let through. */
  left: number;
  at: number;
  /** Tries whose outcome is not known. */
  pending: number;
}

/** Buckets that begin full and fill again. One that made room for others starts over, so their number bounds the memory alone. */
class Failures {
  readonly #byKey = new Recent<Bucket>(2 * MAX_COUNTED);

  /** How long the next try has to wait, in milliseconds. */
  waitOf(key: string, maxFailures: number): number {
    const bucket = this.#byKey.get(key);
    if (!bucket) return 0;
    const now = performance.now();
    const each = INTERVAL_MS / maxFailures;
    bucket.left = Math.min(maxFailures, bucket.left + (now - bucket.at) / each);
    bucket.at = now;
    if (bucket.left < 1) return (1 - bucket.left) * each;
    return bucket.pending < maxFailures * PENDING_PER_FAILURE ? 0 : each;
  }

  begin(key: string, maxFailures: number): void {
    const bucket = this.#byKey.get(key);
    if (bucket) bucket.pending++;
    else this.#byKey.set(key, { left: maxFailures, at: performance.now(), pending: 1 });
  }

  /** Many at once that were all wrong take longer to be forgotten than one after the other, but not for long. */
  end(key: string, isWrong: boolean, maxFailures: number): void {
    const bucket = this.#byKey.get(key);
    if (!bucket) return;
    bucket.pending = Math.max(0, bucket.pending - 1);
    if (isWrong) bucket.left = Math.max(-maxFailures, bucket.left - 1);
  }
}

function refusal(wait: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(wait / 1_000));
  return new GatewayError("rate_limited", "Too many credentials were wrong of late.", {
    data: { retryAfter: seconds },
    headers: { "retry-after": String(seconds) },
    hint: `Try again in ${seconds} s. Credentials that were right before are not held up.`,
  });
}

/** What a browser or a client proves itself with; authenticators that read anything else are counted by address. */
function textOf({ headers: { authorization, cookie } }: Credentials): string | undefined {
  return String(authorization ?? cookie ?? "") || undefined;
}

/** A bearer is looked up by the digest of its token anyway; of a name with its password, and of a cookie, all counts. */
function digestOfSent(credentials: Credentials, text: string): string {
  const bearer = bearerOf(credentials);
  return bearer?.basic === false ? bearer.digest : digestOf(text);
}

/**
 * What tokens of one holder have in common. A JSON Web Token begins as all do, so of those it is whom they say they are about, and
 * for each address alone: nobody guesses a signature, and a stranger who knows a subject must not hold up its next token.
 */
function beginningOf(text: string, address: string): string {
  const token = readBearer(text)?.token ?? text;
  const claims = readUnprovenClaims(token);
  if (claims) return digestOf(`${address} ${subjectOf(claims)}`);
  return token.slice(0, Math.min(MAX_BEGINNING, Math.ceil(token.length / 2)));
}

/** Texts alone: what else a stranger puts there may be nested too deeply to be written out. */
function subjectOf({ iss, sub }: Json): string {
  const nameOf = (claim: unknown): string | null => (typeof claim === "string" ? claim : null);
  return JSON.stringify([nameOf(iss), nameOf(sub)]);
}

/**
 * An address, or of IPv6 the network of 64 bits: the holder of one has all of it (RFC 6177).
 *
 * @example const wait = perAddress.take(placeOf(remoteAddress), performance.now());
 */
export function placeOf(address = ""): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail] = plain.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...zeros, ...back].slice(0, 4).join(":");
}
