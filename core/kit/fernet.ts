import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { GatewayError } from "./errors.ts";

/** The only version of the format. */
const VERSION = 0x80;
/** Version, time and initialization vector. */
const HEAD = 1 + 8 + 16;
const BLOCK = 16;
const MAC = 32;
/** How far the clock that sealed a text may be ahead of the one that opens it, in milliseconds. */
const MAX_SKEW_MS = 60_000;
/** Shortest text that a key is derived from: a password can be guessed from what it sealed. */
const MIN_SECRET = 32;

interface FernetKey {
  readonly signing: Buffer;
  readonly encryption: Buffer;
}

/**
 * How {@link Fernet.open} looks at the time.
 *
 * @example const hour: FernetTimes = { ttl: 3_600_000 };
 */
export interface FernetTimes {
  /** How old the token may be, in milliseconds; default: any age. */
  readonly ttl?: number;
  /** The time to compare with, in milliseconds since 1970; default: now. */
  readonly now?: number;
}

/**
 * Secrets at rest as [Fernet](https://github.com/fernet/spec) tokens: AES-128-CBC and HMAC-SHA256, readable by every library of that
 * name. The first key seals, all of them open: a new key is put in front, and the old one goes when nothing is sealed with it.
 *
 * @example
 * const fernet = new Fernet([secretKey, formerSecretKey]);
 * const sealed = fernet.seal(jwt); // "gAAAAAB..."
 * fernet.open(sealed) === jwt;
 */
export class Fernet {
  readonly #keys: readonly [FernetKey, ...FernetKey[]];

  /**
   * @param secrets each a Fernet key (32 bytes in base64url), or any text of at least 32 characters, whose SHA-256 is the key
   * @throws {GatewayError} `invalid` without a secret, and for a shorter one
   */
  constructor(secrets: readonly string[]) {
    const [first, ...others] = secrets.map(keyOf);
    if (!first) throw new GatewayError("invalid", "There is no key to seal secrets with.");
    this.#keys = [first, ...others];
  }

  /** Encrypts a text with the first key. Lone surrogates do not survive it. */
  seal(text: string): string {
    return sealWith(this.#keys[0], text, Date.now(), randomBytes(BLOCK));
  }

  /**
   * Decrypts a token that any of the keys sealed.
   *
   * @throws {GatewayError} `invalid` for a token that was changed, was sealed with another key, is older than `ttl`, or with a `ttl`
   * is from more than a minute ahead
   */
  open(token: string, { ttl, now = Date.now() }: FernetTimes = {}): string {
    const bytes = toBytes(token);
    const key = bytes && this.#keys.find((each) => isSignedBy(each, bytes));
    if (!bytes || !key) throw unopened("It was changed, or sealed with another key.");
    if (ttl !== undefined) checkAge(now - Number(bytes.readBigUInt64BE(1)) * 1_000, ttl);
    return decrypt(key, bytes);
  }

  /** Whether a token was sealed with the first key; one that was not is to be sealed again before its key goes. */
  isCurrent(token: string): boolean {
    const bytes = toBytes(token);
    return bytes !== undefined && isSignedBy(this.#keys[0], bytes);
  }
}

/** The two halves of a key; for {@link Fernet} and tests. */
export function keyOf(secret: string): FernetKey {
  const isKey = /^[\w-]{43}=?$/.test(secret);
  if (!isKey && secret.length < MIN_SECRET)
    throw new GatewayError("invalid", "A key to seal secrets with is too short.", {
      hint: `Use at least ${MIN_SECRET} characters, such as the output of: openssl rand -base64 32`,
    });
  const bytes = isKey
    ? Buffer.from(secret, "base64url")
    : createHash("sha256").update(secret).digest();
  return { signing: bytes.subarray(0, 16), encryption: bytes.subarray(16) };
}

/** With a given time and initialization vector, which must never be used twice; for {@link Fernet.seal} and tests. */
export function sealWith(
  { signing, encryption }: FernetKey,
  text: string,
  now: number,
  iv: Buffer,
): string {
  const head = Buffer.alloc(HEAD);
  head[0] = VERSION;
  head.writeBigUInt64BE(BigInt(Math.floor(now / 1_000)), 1);
  iv.copy(head, HEAD - BLOCK);
  const cipher = createCipheriv("aes-128-cbc", encryption, iv);
  const body = Buffer.concat([head, cipher.update(text, "utf8"), cipher.final()]);
  const token = Buffer.concat([body, macOf(signing, body)]);
  // Node's base64url has no padding, and other libraries want it.
  return token.toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

/** Node skips characters that are not of the alphabet, which makes many tokens of one: only the canonical form counts. */
function toBytes(token: string): Buffer | undefined {
  const bytes = Buffer.from(token, "base64url");
  const isCanonical = bytes.toString("base64url") === token.replace(/={0,2}$/, "");
  const length = bytes.length - HEAD - MAC;
  const fits = isCanonical && bytes[0] === VERSION && length >= BLOCK && length % BLOCK === 0;
  return fits ? bytes : undefined;
}

function isSignedBy({ signing }: FernetKey, token: Buffer): boolean {
  return timingSafeEqual(macOf(signing, token.subarray(0, -MAC)), token.subarray(-MAC));
}

function macOf(signing: Buffer, bytes: Buffer): Buffer {
  return createHmac("sha256", signing).update(bytes).digest();
}

function checkAge(age: number, ttl: number): void {
  if (age > ttl) throw unopened("It is older than allowed.");
  if (age < -MAX_SKEW_MS) throw unopened("It is from the future.");
}

function decrypt({ encryption }: FernetKey, token: Buffer): string {
  const decipher = createDecipheriv("aes-128-cbc", encryption, token.subarray(HEAD - BLOCK, HEAD));
  try {
    const text = decipher.update(token.subarray(HEAD, -MAC));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Buffer.concat([text, decipher.final()]),
    );
  } catch {
    // The holder of the key made it so: there is no oracle to close.
    throw unopened("Its content is not a text.");
  }
}

function unopened(reason: string): GatewayError {
  return new GatewayError("invalid", `A sealed secret cannot be opened. ${reason}`, {
    hint: "Give the gateway the key that the secret was sealed with, or set the secret again.",
  });
}
