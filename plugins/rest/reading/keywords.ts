import { isObject } from "propylon/kit";

type Check = (value: unknown) => boolean;

const TYPES: ReadonlySet<unknown> = new Set([
  "array",
  "boolean",
  "integer",
  "null",
  "number",
  "object",
  "string",
]);

const anything: Check = () => true;
const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isFlag: Check = (value) => typeof value === "boolean";
const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const isSchema: Check = (value) => isObject(value) || isFlag(value);
const isList: Check = (value) => Array.isArray(value) && value.length > 0;
const isType: Check = (value) =>
  TYPES.has(value) ||
  (Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((each) => TYPES.has(each)));

/** Clients compile patterns as ECMAScript with the flag `u`; one that does not compile takes them every tool of every server. */
const isPattern: Check = (value) => {
  if (typeof value !== "string") return false;
  try {
    return new RegExp(value, "u").unicode;
  } catch {
    return false;
  }
};

/**
 * The keywords of JSON Schema 2020-12 and what is a value of them. Others are those of OpenAPI and of tools, or would change what
 * references mean; a client that checks schemas refuses a tool for an invalid value.
 */
const KEYWORDS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["type", isType],
  ["enum", isList],
  ["const", anything],
  ["title", isText],
  ["description", isText],
  ["default", anything],
  ["examples", Array.isArray],
  ["deprecated", isFlag],
  ["readOnly", isFlag],
  ["writeOnly", isFlag],
  ["format", isText],
  ["pattern", isPattern],
  ["minLength", isCount],
  ["maxLength", isCount],
  ["minimum", isNumber],
  ["maximum", isNumber],
  ["exclusiveMinimum", isNumber],
  ["exclusiveMaximum", isNumber],
  ["multipleOf", (value) => typeof value === "number" && value > 0],
  ["minItems", isCount],
  ["maxItems", isCount],
  ["uniqueItems", isFlag],
  ["minContains", isCount],
  ["maxContains", isCount],
  ["minProperties", isCount],
  ["maxProperties", isCount],
  ["required", Array.isArray],
  ["properties", isObject],
  ["patternProperties", isObject],
  ["dependentSchemas", isObject],
  ["$defs", isObject],
  ["definitions", isObject],
  ["allOf", isList],
  ["anyOf", isList],
  ["oneOf", isList],
  ["prefixItems", isList],
  ["items", isSchema],
  ["additionalProperties", isSchema],
  ["unevaluatedItems", isSchema],
  ["unevaluatedProperties", isSchema],
  ["propertyNames", isSchema],
  ["contains", isSchema],
  ["contentSchema", isSchema],
  ["contentMediaType", isText],
  ["contentEncoding", isText],
  ["not", isSchema],
  ["if", isSchema],
  ["then", isSchema],
  ["else", isSchema],
]);

/** Whether a member of a schema is a keyword that clients know, with a value that they take. */
export function isKeyword(key: string, value: unknown): boolean {
  return KEYWORDS.get(key)?.(value) ?? false;
}
