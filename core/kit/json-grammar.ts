/** The tokens of JSON (RFC 8259) as tables by byte, and what a scan finds. */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Deepest nesting that can be counted.
 *
 * @example const { fault } = scanJson(chunks, DEEPEST);
 */
export const DEEPEST = 1_023;

/** What may come next between tokens (RFC 8259). */
export const VALUE = 0;
export const VALUE_OR_END = 1;
export const KEY = 2;
export const KEY_OR_END = 3;
export const AFTER_KEY = 4;
export const AFTER_VALUE = 5;
/** Tokens that have begun. */
export const STRING = 6;
export const ESCAPE = 7;
export const HEX = 8;
export const LITERAL = 9;
export const NUMBER = 10;

/** Bytes that stand for themselves in a string. */
export const PLAIN = setOf((byte) => byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH);
/** White space between tokens. */
export const BLANK = setOf((byte) => " \t\r\n".includes(String.fromCharCode(byte)));
/** What may stand behind a backslash, except for `u`. */
export const ESCAPES = setOf((byte) => '"\\/bfnrt'.includes(String.fromCharCode(byte)));
export const HEX_DIGITS = setOf((byte) => /[\da-f]/i.test(String.fromCharCode(byte)));
/** By their first byte. */
export const LITERALS = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), word]),
);

/** The parts of a number: after its sign, 0, digits, point, fraction, e, sign of the exponent, exponent. */
export const SIGN = 0;
export const ZERO = 1;
export const DIGITS = 2;
export const FRACTION = 4;
export const EXPONENT = 7;
export const BROKEN = 8;
/** Column of what ends a number. */
export const BEHIND = 6;
/** The next part by part and by what comes: 0, another digit, a point, e, plus, minus. */
export const PARTS = [
  [1, 2, 8, 8, 8, 8],
  [8, 8, 3, 5, 8, 8],
  [2, 2, 3, 5, 8, 8],
  [4, 4, 8, 8, 8, 8],
  [4, 4, 8, 5, 8, 8],
  [7, 7, 8, 8, 6, 6],
  [7, 7, 8, 8, 8, 8],
  [7, 7, 8, 8, 8, 8],
].map((row) => Uint8Array.from(row));
/** Column of that table by byte. */
export const COLUMN = new Uint8Array(256).fill(BEHIND);
for (const [column, bytes] of ["0", "123456789", ".", "eE", "+", "-"].entries())
  for (const byte of Buffer.from(bytes)) COLUMN[byte] = column;

/**
 * A span of bytes that came in pieces, as a text of one character per byte.
 *
 * @example const method = latin1Of(chunks, start, end);
 */
export function latin1Of(chunks: readonly Buffer[], start: number, end: number): string {
  let text = "";
  let base = 0;
  for (const chunk of chunks) {
    if (base >= end) break;
    text += chunk.toString("latin1", Math.max(0, start - base), Math.max(0, end - base));
    base += chunk.length;
  }
  return text;
}

/** A member of the object that a JSON text is. The places are offsets in bytes. */
export interface Member {
  /** Without its quotes; `undefined` for a name that is long or holds an escape. */
  readonly name: string | undefined;
  /** Where its name begins, with its quote. */
  readonly key: number;
  /** Where its value begins. */
  readonly start: number;
  /** Just behind its value. */
  readonly end: number;
}

/**
 * How a JSON text looks from outside; see `scanJson`.
 *
 * @example const { fault, members }: JsonScan = scanJson([bytes], 64);
 */
export interface JsonScan {
  /** Why the text is refused: it is invalid JSON, or it nests too deep. */
  readonly fault: "syntax" | "depth" | undefined;
  /** Whether it is an object, so that it has {@link members}. */
  readonly isObject: boolean;
  /** The first 32 in order; of a broken text, those before the fault. */
  readonly members: readonly Member[];
}

function setOf(has: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => Number(has(byte)));
}
