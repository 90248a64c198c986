import { compareDecimals, decimalOf } from "./decimal.ts";

/** An integer of so many digits is made a bigint at most: `1e999999999` has a short text and fills the memory. */
const MOST_DIGITS = 1_000;

/**
 * A number of a JSON text that JavaScript would change by reading it: an integer beyond 2^53 such as an identifier of 64 bits, a
 * fraction of more digits than a double has, `1e400`. `writeJson` writes it as it came, and `JSON.stringify` as a text of its
 * digits, so that no code that has never heard of it makes another number of it.
 *
 * @example
 * const id = call.args?.["id"]; // 12345678901234567890
 * const digits = String(id); // "12345678901234567890"
 */
export class ExactNumber {
  /** As it was written. */
  readonly text: string;

  /** @param text a number by the grammar of JSON */
  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  toJSON(): string {
    return toJson(this.text);
  }

  /** @throws {TypeError} where JavaScript would calculate with another integer; a fraction is the nearest double, as everywhere */
  [Symbol.toPrimitive](hint: "string" | "number" | "default"): string | number {
    if (hint === "string") return this.text;
    const nearest = nearestOf(this);
    if (typeof nearest === "number") return nearest;
    throw new TypeError(`JavaScript has no number ${this.text.slice(0, 80)}`);
  }
}

/** Stands in front of a number in a JSON text while it is read or written; nobody outside of the process knows it. */
const MARK = `number:${crypto.getRandomValues(new Uint32Array(4)).join("-")}:`;
/** A number as it stands in a text that {@link writing} made. */
const MARKED = new RegExp(`"${MARK}([^"]+)"`, "g");

/** Whether `writeJson` runs, and how many numbers it has met. */
export const writing = { isOn: false, met: 0 };

function toJson(text: string): string {
  if (!writing.isOn) return text;
  writing.met++;
  return MARK + text;
}

/** A text that {@link writing} made, with its numbers as numbers. */
export function withNumbers(text: string): string {
  return text.replace(MARKED, "$1");
}

/** The text by which {@link unmark} knows a number again. */
export function markNumber(text: string): string {
  return `"${MARK}${text}"`;
}

/** The number that a text of {@link markNumber} stands for; any other value as it is. */
export function unmark(value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith(MARK)) return value;
  return new ExactNumber(value.slice(MARK.length));
}

/**
 * Whether a JSON value is a number, held by JavaScript or not.
 *
 * @example const isAmount = isNumber(value) && compareNumbers(value, 0) > 0;
 */
export function isNumber(value: unknown): value is number | ExactNumber {
  return typeof value === "number" || value instanceof ExactNumber;
}

/**
 * Whether a JSON value is an integer as JSON Schema means it: a number without a fraction, however it is written.
 *
 * @example isInteger(new ExactNumber("12345678901234567890")); // true
 */
export function isInteger(value: unknown): value is number | ExactNumber {
  if (!(value instanceof ExactNumber)) return Number.isInteger(value);
  const { digits, exponent } = decimalOf(value.text);
  return digits === "" || exponent >= 0;
}

/**
 * A number as a bigint; `undefined` for one with a fraction, or of more than 1,000 digits.
 *
 * @example toBigInt(new ExactNumber("12345678901234567890")); // 12345678901234567890n
 */
export function toBigInt(value: number | ExactNumber): bigint | undefined {
  if (!isInteger(value)) return undefined;
  const { isNegative, digits, exponent } = decimalOf(String(value));
  if (digits.length + exponent > MOST_DIGITS) return undefined;
  const size = digits === "" ? 0n : BigInt(digits + "0".repeat(exponent));
  return isNegative ? -size : size;
}

/**
 * Which of two numbers is larger, to the last digit: below 0 where the second is, 0 for equal ones.
 *
 * @example compareNumbers(new ExactNumber("9007199254740993"), 9007199254740992); // 1
 */
export function compareNumbers(one: number | ExactNumber, other: number | ExactNumber): number {
  if (typeof one === "number" && typeof other === "number") return Math.sign(one - other);
  return compareDecimals(decimalOf(String(one)), decimalOf(String(other)));
}

/**
 * A JSON value with something else in the place of each {@link ExactNumber}, and of each bigint that code put there; the value itself
 * where it holds none.
 *
 * @example mapExact(args, ({ text }) => text); // digits as texts
 */
export function mapExact(value: unknown, change: (number: ExactNumber) => unknown): unknown {
  return holdsExact(value) ? mapped(value, change) : value;
}

/** Copies nothing: hardly any value holds one. */
function holdsExact(value: unknown): boolean {
  if (typeof value === "bigint") return true;
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof ExactNumber) return true;
  if (Array.isArray(value)) return value.some(holdsExact);
  for (const key in value) if (holdsExact((value as Record<string, unknown>)[key])) return true;
  return false;
}

function mapped(value: unknown, change: (number: ExactNumber) => unknown): unknown {
  if (typeof value === "bigint") return change(new ExactNumber(String(value)));
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof ExactNumber) return change(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, change));
  // A date of code's, and the like.
  if ("toJSON" in value) return value;
  const entries = Object.entries(value).map(([key, part]) => [key, mapped(part, change)]);
  return Object.fromEntries(entries);
}

/**
 * A JSON value with each fraction as the nearest double, for code that calculates with it. An integer that JavaScript cannot hold
 * stays an {@link ExactNumber}.
 *
 * @example roundFractions({ pi: new ExactNumber("3.14159265358979323846") }); // { pi: 3.141592653589793 }
 */
export function roundFractions<T>(value: T): T {
  return mapExact(value, nearestOf) as T;
}

function nearestOf(value: ExactNumber): number | ExactNumber {
  const nearest = Number(value.text);
  return Number.isFinite(nearest) && !isInteger(value) ? nearest : value;
}
