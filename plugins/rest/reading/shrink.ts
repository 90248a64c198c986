import type { Json } from "propylon";
import { isObject } from "propylon/kit";

/** Levels that are kept, from many to few. */
const LEVELS = [12, 8, 6, 4];
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);

/**
 * A schema that fits into so many characters: the same, or one in which what is too deep accepts anything. Properties that do not fit by
 * their names alone are not told, and accepted: a document may have 200,000 of them.
 */
export function shrink(schema: Json, room: number): Json {
  if (JSON.stringify(schema).length <= room) return schema;
  for (const levels of LEVELS) {
    const cut = cutBelow(schema, levels) as Json;
    if (JSON.stringify(cut).length <= room) return cut;
  }
  return { ...schema, ...namesWithin(schema, room) };
}

/** A list that was cut would say something else: it is left out, and so are data. */
function cutBelow(value: unknown, levels: number): unknown {
  if (Array.isArray(value))
    return levels > 0 ? value.map((each) => cutBelow(each, levels - 1)) : undefined;
  if (!isObject(value)) return value;
  if (levels <= 0) return {};
  const entries = Object.entries(value)
    .filter(([key, each]) => levels > 2 || !(DATA.has(key) && typeof each === "object"))
    .map(([key, each]) => [key, cutBelow(each, levels - 1)] as const)
    .filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries);
}

/** The names that fit, what is required first. */
function namesWithin({ properties, required }: Json, room: number): Json {
  const wanted = new Set(Array.isArray(required) ? (required as string[]) : []);
  const names = Object.keys(isObject(properties) ? properties : {});
  const ordered = names.toSorted((a, b) => Number(wanted.has(b)) - Number(wanted.has(a)));
  let left = room - 200;
  // Its name may stand in both lists, with quotes, a comma and `:{}`.
  const kept = ordered.filter((name) => (left -= 2 * JSON.stringify(name).length + 5) >= 0);
  const told = new Set(kept);
  return {
    properties: Object.fromEntries(kept.map((name) => [name, {}])),
    ...(wanted.size > 0 && { required: [...wanted].filter((name) => told.has(name)) }),
  };
}
