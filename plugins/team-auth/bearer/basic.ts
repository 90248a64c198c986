import { createHmac, randomBytes } from "node:crypto";
import { GatewayError, type Identity } from "propylon";
import { type Credentials, digestOf, Recent, Semaphore } from "propylon/kit";
import { placeOf, readBasic } from "propylon/internal";
import { Guesses } from "./guesses.ts";
import type { Issuer } from "./issuer.ts";
import { away, refusalMessage, type RefusalReason } from "../refusals.ts";
import { DECOY, isPassword } from "../directory/service-accounts.ts";
import type { AccountLogin } from "./snapshot.ts";

/** Passwords that are hashed at a time: each takes a thread and 16 MiB. */
const MAX_HASHING = 2;
/** Requests that wait for that; more are sent away. */
const MAX_WAITING = 16;
/** Pairs of name and password that are known to be right, and of those that are known to be wrong. */
const MAX_KNOWN = 1_000;

/** `WWW-Authenticate` where accounts are asked for: standard clients send Basic when it is asked for, and not before (RFC 7617). */
export const BASIC_CHALLENGE = 'Basic realm="propylon", charset="UTF-8"';

/** What {@link BasicLogin} needs. */
export interface BasicLoginParts {
  /** The account of a name as it is now. */
  readonly accountOf: (name: string) => AccountLogin | undefined;
  readonly guesses: Guesses;
  /** Told of every refusal, for the metric. */
  readonly refused: (reason: RefusalReason) => void;
}

/**
 * Service accounts by HTTP Basic (RFC 7617). A right pair is hashed once: after that its digest is known, as long as the account
 * has that password. So clients cost nothing, and only a few wrong ones are hashed at a time.
 */
export class BasicLogin {
  readonly #parts: BasicLoginParts;
  /** Of this process alone: nobody can prepare digests, or try passwords on those in a dump of the memory of another. */
  readonly #secret = randomBytes(32);
  readonly #known = new Recent<true>(MAX_KNOWN);
  /** Neither hashed nor counted again: clients of another authenticator send theirs with every request. */
  readonly #wrong = new Recent<true>(MAX_KNOWN);
  readonly #checks = new Map<string, Promise<boolean>>();
  readonly #hashes = new Semaphore(MAX_HASHING);

  constructor(parts: BasicLoginParts) {
    this.#parts = parts;
  }

  /**
   * A name that nobody has is hashed and counted as any other: neither the time nor the words tell which names exist.
   *
   * @returns `undefined` for other credentials than those of an account; another authenticator may know them
   * @throws {GatewayError} `unauthorized`; `rate_limited` for an address that guesses, and when too many passwords are being hashed
   */
  authenticate({
    headers,
    remoteAddress = "",
  }: Credentials): Identity | Promise<Identity | undefined> | undefined {
    const pair = readBasic(String(headers["authorization"] ?? ""));
    if (!pair || pair.name === "") return undefined;
    const account = this.#parts.accountOf(pair.name);
    const asked = account ?? { name: pair.name, password: DECOY, active: 0 };
    const digest = this.#digestOf(pair.password, asked);
    if (this.#known.get(digest)) return this.#admit(asked);
    if (this.#wrong.get(digest)) return this.#deny(account);
    const guesser = digestOf(JSON.stringify([placeOf(remoteAddress), pair.name]));
    this.#parts.guesses.check(guesser);
    return this.#check(digest, pair.password, asked).then((isRight) => {
      if (account && isRight) return this.#admit(account);
      this.#parts.guesses.fail(guesser);
      this.#wrong.set(digest, true);
      return this.#deny(account);
    });
  }

  /** What is said to Basic that nobody knows: the same as to a wrong password. */
  refusal({ headers: { authorization } }: Credentials): string | undefined {
    if (!readBasic(String(authorization ?? ""))) return undefined;
    this.#parts.refused("wrong_password");
    return refusalMessage("wrong_password");
  }

  #admit({ name, active }: AccountLogin): Identity {
    if (!active) throw this.#refuse();
    return { id: name, kind: "service", roles: new Set(["service"]) };
  }

  #deny(account: AccountLogin | undefined): undefined {
    if (account) throw this.#refuse();
  }

  #refuse(): GatewayError {
    this.#parts.refused("wrong_password");
    return new GatewayError("unauthorized", refusalMessage("wrong_password"));
  }

  /** With what is kept of the password, so that a new password makes the old one unknown. */
  #digestOf(password: string, account: AccountLogin): string {
    const text = JSON.stringify([account.name, account.password, password]);
    return createHmac("sha256", this.#secret).update(text).digest("base64");
  }

  /** Requests with one pair, such as all of a client that starts, wait for one hash. */
  #check(digest: string, password: string, account: AccountLogin): Promise<boolean> {
    const running = this.#checks.get(digest);
    if (running) return running;
    const check = this.#hash(digest, password, account).finally(() => this.#checks.delete(digest));
    this.#checks.set(digest, check);
    return check;
  }

  async #hash(
    digest: string,
    password: string,
    { password: kept }: AccountLogin,
  ): Promise<boolean> {
    const leave = await this.#enter();
    try {
      const isRight = await isPassword(password, kept);
      if (isRight) this.#known.set(digest, true);
      return isRight;
    } finally {
      leave();
    }
  }

  async #enter(): Promise<() => void> {
    if (this.#hashes.waiting >= MAX_WAITING)
      throw new GatewayError("rate_limited", "Too many passwords are being checked.", {
        hint: "Try again in a second.",
        headers: { "retry-after": "1" },
      });
    return this.#hashes.take();
  }
}

/** Looks accounts up in the copy of the tables that every request is answered from. */
export function createBasicLogin(issuer: Issuer, refused: BasicLoginParts["refused"]): BasicLogin {
  const accountOf = (name: string): AccountLogin | undefined => {
    const { isCurrent, snapshot } = issuer.replica;
    if (!isCurrent) throw away();
    return snapshot.accounts.get(name);
  };
  return new BasicLogin({ accountOf, guesses: new Guesses(), refused });
}
