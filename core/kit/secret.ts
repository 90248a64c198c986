import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 bytes in base 62. */
const RANDOM_LENGTH = 43;
const RANDOM_BYTES = 32;
/** 4 bytes in base 62. */
const CHECKSUM_LENGTH = 6;

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
