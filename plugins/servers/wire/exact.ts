import type { Json } from "propylon";
import { ExactNumber, isObject } from "propylon/kit";

/** Keywords whose value counts as a whole: with less in it a schema would accept something else. */
const WHOLE: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/**
 * An entry of a list without the keywords that hold a number which was changed by being read, e.g. a `maximum` of 64 bits: a
 * schema without them accepts more, and the server checks for itself.
 *
 * @param found told the place of each
 */
export function withoutInexact(value: Json, found: (path: string) => void, path = ""): Json {
  const kept = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const at = path === "" ? key : `${path}.${key}`;
    if (isInexact(member, WHOLE.has(key))) {
      found(at);
      return [];
    }
    return [[key, within(member, found, at)]];
  });
  return Object.fromEntries(kept);
}

function within(member: unknown, found: (path: string) => void, at: string): unknown {
  if (Array.isArray(member)) return member.map((each) => within(each, found, at));
  return isObject(member) ? withoutInexact(member, found, at) : member;
}

/** Whether a value is such a number or a list with one; with `deep`, whether it holds one anywhere. */
export function isInexact(value: unknown, deep: boolean): boolean {
  if (value instanceof ExactNumber) return true;
  if (Array.isArray(value)) return value.some((each) => isInexact(each, deep));
  return deep && isObject(value) && Object.values(value).some((each) => isInexact(each, true));
}
