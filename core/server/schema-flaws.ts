import { followPointer } from "../kit/json-pointer.ts";
import { isObject } from "../kit/json.ts";
import type { Json } from "../kit/types.ts";

/** Longest output schema, in characters of JSON: clients hold all of them in memory, and models are shown them. */
const MAX_OUTPUT = 20_480;
/** Deepest schema. */
const MAX_DEPTH = 64;
/**
 * Stands in a list of a server for what nested too deep in it.
 *
 * @example const isWhole = (value: unknown): boolean => value !== TOO_DEEP;
 */
export const TOO_DEEP = "propylon: nests too deep";

const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

type Check = (value: unknown) => boolean;
const isNumber: Check = (value) => typeof value === "number";
const isFlag: Check = (value) => typeof value === "boolean";
const isText: Check = (value) => typeof value === "string";
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isSchema: Check = (value) => isFlag(value) || isObject(value);
const isSchemas: Check = (value) => Array.isArray(value) && value.every(isSchema);
const isMap: Check = isObject;

/** What a keyword must be: a validator that meets something else throws, and with it the whole list is lost to some clients. */
const KEYWORDS: Readonly<Record<string, Check>> = {
  type: (value) =>
    TYPES.has(value as string) ||
    (Array.isArray(value) && value.length > 0 && value.every((each) => TYPES.has(each as string))),
  enum: (value) => Array.isArray(value) && value.length > 0,
  examples: Array.isArray,
  required: isTexts,
  pattern: isPattern,
  format: isText,
  $ref: isText,
  $recursiveAnchor: (value) => value === false,
  uniqueItems: isFlag,
  ...Object.fromEntries(
    ["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"]
      .concat(["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"])
      .map((name) => [name, isNumber]),
  ),
};
/** Keywords that hold one schema, several, or several by name. */
const ONE = ["additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"];
const SEVERAL = ["anyOf", "oneOf", "allOf", "prefixItems"];
const BY_NAME = ["properties", "patternProperties", "$defs", "definitions"];

/**
 * Why an output schema is left out: clients compile it, some of them for all tools at once, and a single one that does not compile
 * takes all tools of all servers from them. `undefined`: it can stay.
 */
export function outputFlaw(schema: unknown): string | undefined {
  if (!isObject(schema)) return "is not an object";
  const deep = depthFlaw(schema);
  if (deep !== undefined) return deep;
  const { length } = JSON.stringify(schema);
  if (length > MAX_OUTPUT) return `has ${length} characters; ${MAX_OUTPUT} are allowed`;
  return keywordFlaw(schema, schema);
}

/** Why a schema nests too deep to be used; `undefined`: it does not. */
export function depthFlaw(schema: unknown): string | undefined {
  return isWithin(schema, MAX_DEPTH) ? undefined : `nests deeper than ${MAX_DEPTH} levels`;
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return value !== TOO_DEEP;
  return levels > 0 && Object.values(value).every((each) => isWithin(each, levels - 1));
}

function keywordFlaw(schema: unknown, root: Json): string | undefined {
  if (!isObject(schema)) return undefined;
  for (const [key, value] of Object.entries(schema)) {
    if (Object.hasOwn(KEYWORDS, key) && !KEYWORDS[key]!(value))
      return `has a ${key} that clients refuse: ${JSON.stringify(value).slice(0, 60)}`;
  }
  if (schema["nullable"] !== undefined && schema["type"] === undefined)
    return "has nullable without a type";
  if (!isResolved(schema["$ref"], root)) return "has a $ref that leads nowhere";
  const patterns = isObject(schema["patternProperties"])
    ? Object.keys(schema["patternProperties"])
    : [];
  if (!patterns.every(isPattern)) return "has patternProperties that clients refuse";
  return partsFlaw(schema, root);
}

function partsFlaw(schema: Json, root: Json): string | undefined {
  for (const part of partsOf(schema)) {
    if (part === undefined) return "has a part that is not a schema";
    const flaw = keywordFlaw(part, root);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** The schemas within a schema; `undefined` stands for what is not a schema. */
function* partsOf(schema: Json): Generator {
  const { items } = schema;
  const one = Array.isArray(items) ? ONE : [...ONE, "items"];
  const several = Array.isArray(items) ? [...SEVERAL, "items"] : SEVERAL;
  for (const key of one) if (schema[key] !== undefined) yield checked(schema[key], isSchema);
  for (const key of several)
    if (schema[key] !== undefined)
      yield* (checked(schema[key], isSchemas) as unknown[] | undefined) ?? [undefined];
  for (const key of BY_NAME) {
    if (schema[key] === undefined) continue;
    const map = checked(schema[key], isMap) as Json | undefined;
    for (const value of map ? Object.values(map) : [undefined]) yield checked(value, isSchema);
  }
}

function checked(value: unknown, check: Check): unknown {
  return check(value) ? value : undefined;
}

/** Python and PCRE write groups that ECMAScript has not. */
function isPattern(pattern: unknown): boolean {
  try {
    return typeof pattern === "string" && new RegExp(pattern, "u").unicode;
  } catch {
    return false;
  }
}

function isResolved(ref: unknown, root: Json): boolean {
  if (ref === undefined || ref === "#") return true;
  if (typeof ref !== "string" || !ref.startsWith("#/")) return false;
  try {
    return followPointer(root, decodeURIComponent(ref.slice(1))) !== undefined;
  } catch {
    return false;
  }
}
