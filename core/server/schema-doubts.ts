import { isObject } from "../kit/json.ts";
import { isSafeKey } from "../kit/safe-keys.ts";
import type { Json, Tool } from "../kit/types.ts";
import type { LeftOut } from "../call/left-out-entry.ts";

const COMBINATORS = ["anyOf", "oneOf", "allOf"] as const;
/** Values of a schema that are looked at; a server decides how many there are. */
const MAX_VISITS = 10_000;

/** What some clients or models refuse of the arguments of tools, which stay as they are. */
export function doubtsOf(tools: readonly Tool[]): LeftOut[] {
  return tools.flatMap(({ name, inputSchema }) => {
    const doubts = new Set<string>();
    for (const key of COMBINATORS)
      if (Array.isArray(inputSchema[key])) doubts.add(`${key} at the top of inputSchema`);
    look(inputSchema, doubts, { left: MAX_VISITS });
    const why = [...doubts].slice(0, 5).join(", ");
    return why === "" ? [] : [{ kind: "tools" as const, name, why, isKept: true as const }];
  });
}

function look(schema: unknown, doubts: Set<string>, visits: { left: number }): void {
  if (visits.left-- <= 0) return;
  if (Array.isArray(schema)) for (const each of schema) look(each, doubts, visits);
  if (!isObject(schema)) return;
  lookAtKeys(schema, doubts);
  const { type, items, enum: values } = schema;
  if (type === "array" && items === undefined && schema["prefixItems"] === undefined)
    doubts.add("an array without items");
  if (Array.isArray(values) && new Set(values).size < values.length)
    doubts.add("an enum with a value twice");
  for (const each of Object.values(schema)) look(each, doubts, visits);
}

function lookAtKeys({ properties }: Json, doubts: Set<string>): void {
  if (!isObject(properties)) return;
  for (const key of Object.keys(properties))
    if (!isSafeKey(key)) doubts.add(`the key ${JSON.stringify(key.slice(0, 80))}`);
}
