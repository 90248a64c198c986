import type { Json } from "propylon";
import { isObject, parseExact } from "propylon/kit";
import { isInteger, isNumber } from "propylon/internal";
import { followReference } from "./pointer.ts";

/** Schemas within schemas. More is a circle of references. */
const MAX_DEPTH = 32;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The arguments with texts read as numbers and booleans where a schema wants such, for clients that send every value as text.
 * A value that cannot be read so stays as it is, and so does one where a text is allowed too.
 */
export function coerceArguments(schema: Json, args: Json): Json {
  return coerce(schema, schema, args, 0) as Json;
}

function coerce(root: Json, written: unknown, value: unknown, depth: number): unknown {
  const schema = resolve(root, written);
  if (!schema || depth > MAX_DEPTH) return value;
  if (typeof value === "string") return read(typesOf(root, schema), value);
  if (Array.isArray(value)) {
    const { items } = schema;
    return isObject(items) ? value.map((item) => coerce(root, items, item, depth + 1)) : value;
  }
  const properties = schema["properties"];
  if (!isObject(value) || !isObject(properties)) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    Object.hasOwn(properties, key) ? coerce(root, properties[key], part, depth + 1) : part,
  ]);
  return Object.fromEntries(entries);
}

function resolve(root: Json, schema: unknown): Json | undefined {
  let at = schema;
  for (let hops = 0; hops < MAX_DEPTH && isObject(at) && typeof at["$ref"] === "string"; hops++)
    at = followReference(root, at["$ref"]);
  return isObject(at) ? at : undefined;
}

/** Types that a schema allows; of alternatives all of them. */
function typesOf(root: Json, { type, anyOf, oneOf }: Json): ReadonlySet<unknown> {
  const choices = [anyOf, oneOf].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  const types = choices.flatMap((choice) => [resolve(root, choice)?.["type"] ?? "string"].flat());
  return new Set([...types, ...(type === undefined ? [] : [type].flat())]);
}

function read(types: ReadonlySet<unknown>, text: string): unknown {
  if (types.has("string")) return text;
  if (types.has("boolean") && (text === "true" || text === "false")) return text === "true";
  if (!types.has("number") && !types.has("integer")) return text;
  const number = NUMBER.test(text) ? parseExact(text) : undefined;
  return isInteger(number) || (isNumber(number) && types.has("number")) ? number : text;
}
