import { toText } from "./words.ts";

/** The steps of a JSON Pointer (RFC 6901), unescaped. */
function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The value at a JSON Pointer; `undefined` where there is none. Only own members count: the values come from strangers. */
export function valueAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const step of stepsOf(pointer)) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[step];
  }
  return at;
}

/** A text with the values that pointers in braces lead to, in the first of some places that has one. */
export function fillIn(text: string, ...places: readonly unknown[]): string {
  return text.replaceAll(/\{(\/[^}]*)\}/g, (_, pointer: string) =>
    toText(places.map((place) => valueAt(place, pointer)).find((value) => value !== undefined)),
  );
}
