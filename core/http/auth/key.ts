import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Role } from "../../call/types.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 bytes in base 62. */
const RANDOM_LENGTH = 43;
/** 4 bytes in base 62. */
const CHECKSUM_LENGTH = 6;
const SHAPE = /^(ppl_[vcoas]_[0-9A-Za-z]{43})_([0-9A-Za-z]{6})$/;

/**
 * A new key: `ppl_<first letter of the role>_<43 random characters>_<checksum>`. The prefix is for secret scanners, the letter
 * for people: what a key may do stands in the config alone.
 */
export function createKey(role: Role): string {
  const body = `ppl_${role.charAt(0)}_${toBase62(randomBytes(32), RANDOM_LENGTH)}`;
  return `${body}_${checksum(body)}`;
}

/** What is kept of a key in place of it: `auth.keys.<name>.hash`, without `sha256:`. A salt would add nothing to 256 random bits. */
export function digestOf(key: string): string {
  return hash("sha256", key);
}

/** Whether a text was meant as one of our keys and lost or changed a character on the way. */
export function isMistyped(text: string): boolean {
  if (!text.startsWith("ppl_")) return false;
  const [, body, sum] = SHAPE.exec(text) ?? [];
  return body === undefined || checksum(body) !== sum;
}

function checksum(body: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(body));
  return toBase62(bytes, CHECKSUM_LENGTH);
}

function toBase62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  while (text.length < length) {
    text = DIGITS.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** What an `Authorization` header carries. */
export interface Bearer {
  readonly token: string;
  /** Whether it came as the password of Basic (RFC 7617). */
  readonly basic: boolean;
}

const FORM = /^(Bearer|Basic) +(\S+) *$/i;

/**
 * The token of an `Authorization` header: `Bearer`, or `Basic` with the key as password and any user, as mcpo takes it.
 * `undefined` for everything else.
 */
export function readBearer(authorization: string): Bearer | undefined {
  const [, scheme, value] = FORM.exec(authorization) ?? [];
  if (scheme === undefined || value === undefined) return undefined;
  if (scheme.toLowerCase() === "bearer") return { token: value, basic: false };
  const pair = Buffer.from(value, "base64").toString();
  const colon = pair.indexOf(":");
  return colon < 0 ? undefined : { token: pair.slice(colon + 1), basic: true };
}
