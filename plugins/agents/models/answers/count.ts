import { scalarText } from "propylon/internal";

/** A count of tokens under one of the keys, as a number or as text; `undefined` for one that cannot be, which would move a budget. */
export function countIn(
  usage: Readonly<Record<string, unknown>>,
  ...keys: readonly string[]
): number | undefined {
  const texts = keys.map((key) => scalarText(usage[key]));
  const digits = texts.find((text) => /^\d{1,15}(?:\.0*)?$/.test(text));
  return digits === undefined ? undefined : Number(digits);
}
