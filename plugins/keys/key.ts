import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Role } from "../kit/roles.ts";
import type { Json } from "../kit/types.ts";
import { isObject } from "../kit/json.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 bytes in base 62. */
const RANDOM_LENGTH = 43;
const RANDOM_BYTES = 32;
/** 4 bytes in base 62. */
const CHECKSUM_LENGTH = 6;
const SHAPE = /^ppl_[vcoas]_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;

/**
 * A new key: `ppl_<first letter of the role>_<43 random characters>_<checksum>`. The prefix is for secret scanners, the letter
 * for people: what a key may do stands in the config alone.
 */
export function createKey(role: Role): string {
  return createSecret(`ppl_${role.charAt(0)}`);
}

/**
 * A new secret: `<prefix>_<43 random characters>_<checksum>`, with 256 random bits. The prefix is for secret scanners, and the
 * checksum tells a secret that was mistyped from one that nobody has, without a look at those there are.
 *
 * @example const ticket = createSecret("tkt"); // "tkt_0fK...x_3aB9zQ"
 */
export function createSecret(prefix: string): string {
  const body = `${prefix}_${randomText(RANDOM_LENGTH)}`;
  return `${body}_${checksum(body)}`;
}

/**
 * Random letters and digits, nearly six bits in each.
 *
 * @example const id = randomText(8);
 */
export function randomText(length: number): string {
  return toBase62(randomBytes(Math.ceil((length * RANDOM_BYTES) / RANDOM_LENGTH)), length);
}

/**
 * Whether a text ends in the checksum of what stands before, as {@link createSecret} writes it.
 *
 * @example if (text.startsWith("tkt_") && !hasChecksum(text)) throw new GatewayError("unauthorized", "The ticket is mistyped.");
 */
export function hasChecksum(text: string): boolean {
  const end = text.length - CHECKSUM_LENGTH;
  return text.charAt(end - 1) === "_" && text.slice(end) === checksum(text.slice(0, end - 1));
}

/** Whether a text was meant as one of our keys and lost or changed a character on the way. */
export function isMistyped(text: string): boolean {
  return text.startsWith("ppl_") && !(SHAPE.test(text) && hasChecksum(text));
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

/**
 * What an `Authorization` header carries.
 *
 * @example const { token, basic }: Bearer = readBearer("Bearer abc")!;
 */
export interface Bearer {
  readonly token: string;
  /** Whether it came as the password of Basic (RFC 7617). */
  readonly basic: boolean;
}

const BEARER = /^Bearer +(\S+) *$/i;
const BASIC = /^Basic +([\w+/-]+={0,2}) *$/i;

/**
 * Name and password of HTTP Basic (RFC 7617).
 *
 * @example const { name, password }: NamedPassword = readBasic("Basic YTpi")!; // a, b
 */
export interface NamedPassword {
  readonly name: string;
  readonly password: string;
}

/**
 * The name and the password of an `Authorization` header; `undefined` for another scheme, and for text that is not base64 or has no
 * colon. Either may be empty.
 *
 * @example const { name, password } = readBasic(String(headers["authorization"])) ?? {};
 */
export function readBasic(authorization: string): NamedPassword | undefined {
  const [, encoded] = BASIC.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, "base64").toString();
  const colon = pair.indexOf(":");
  if (colon < 0) return undefined;
  return { name: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/**
 * The token of an `Authorization` header: `Bearer`, or `Basic` with the key as password and any user, as mcpo takes it.
 * `undefined` for everything else.
 *
 * @example const token = readBearer(String(headers["authorization"]))?.token;
 */
export function readBearer(authorization: string): Bearer | undefined {
  const [, token] = BEARER.exec(authorization) ?? [];
  if (token !== undefined) return { token, basic: false };
  const pair = readBasic(authorization);
  return pair && { token: pair.password, basic: true };
}

/**
 * What a JSON Web Token (RFC 7519) says, before anything of it is proven: good for finding who can prove it, and for nothing else.
 * `undefined` for another form of token.
 *
 * @example const issuer = readUnprovenClaims(token)?.["iss"];
 */
export function readUnprovenClaims(token: string): Json | undefined {
  const [, payload = "", ...rest] = token.split(".", 4);
  if (rest.length !== 1) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}
