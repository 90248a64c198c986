/** A number as `digits` times ten to the power of `exponent`; its digits begin and end with another one than 0. */
export interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

/** Of two of these, different texts are different numbers. */
const INTEGER = /^-?[1-9]\d*$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A number of JSON. Linear in its text: a regular expression for the zeros at its end is not. */
export function decimalOf(text: string): Decimal {
  const [, sign, whole = "", fraction = "", power = "0"] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  let from = 0;
  while (all[from] === "0") from++;
  let to = all.length;
  while (to > from && all[to - 1] === "0") to--;
  const exponent = Number(power) - fraction.length + (all.length - to);
  return { isNegative: sign === "-" && from < to, digits: all.slice(from, to), exponent };
}

/** Below 0 where the second is larger, 0 for equal ones. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  const [a, b] = [signOf(one), signOf(other)];
  if (a !== b || a === 0) return Math.sign(a - b);
  return a * compareSizes(one, other) || 0;
}

function signOf({ isNegative, digits }: Decimal): number {
  if (digits === "") return 0;
  return isNegative ? -1 : 1;
}

function compareSizes(one: Decimal, other: Decimal): number {
  const power = one.digits.length + one.exponent - (other.digits.length + other.exponent);
  if (power !== 0) return Math.sign(power);
  if (one.digits === other.digits) return 0;
  return one.digits < other.digits ? -1 : 1;
}

/** Whether JavaScript holds the number of a text: written again it is the same one. */
export function isExact(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return false;
  const again = String(value);
  if (again === text) return true;
  const areIntegers = INTEGER.test(text) && INTEGER.test(again);
  return !areIntegers && compareDecimals(decimalOf(text), decimalOf(again)) === 0;
}
