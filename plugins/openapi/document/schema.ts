import type { Json } from "propylon";
import { followReference } from "../pointer.ts";

/** Nesting beyond which a schema is cut to "anything". */
const MAX_DEPTH = 40;
/** Text that references may add to one schema, in characters: two in each level of many double it each time. */
const MAX_ADDED = 128 * 1024;
/** A schema with nothing in it, as text. */
const LEAST = 16;
const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** Keywords that identify or annotate a schema for its own document and mean nothing inside another. */
const DROPPED = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$dynamicAnchor",
  "$recursiveAnchor",
  "$vocabulary",
  "$comment",
  "$defs",
  "definitions",
  "additionalItems",
]);
/** Keywords whose value is a schema. */
const SCHEMA = new Set([
  "items",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "propertyNames",
  "contentSchema",
]);
/** The same, where `true` and `false` are in common use. */
const FLAG = new Set(["additionalProperties", "unevaluatedItems", "unevaluatedProperties"]);
/** Keywords whose value is a list of schemas. */
const LIST = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
/** Keywords whose value has schemas by name. */
const MAP = new Set(["properties", "patternProperties", "dependentSchemas"]);

/** Keywords whose value is data, as far as importers and validators break on another kind of it. */
const DATA: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) =>
    [value].flat().length > 0 && [value].flat().every((type) => TYPES.has(type as string)),
  required: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  enum: (value) => Array.isArray(value) && value.length > 0,
  examples: Array.isArray,
  ...kinds("string", [
    "title",
    "description",
    "format",
    "pattern",
    "contentEncoding",
    "contentMediaType",
  ]),
  ...kinds("boolean", ["deprecated", "readOnly", "writeOnly", "uniqueItems"]),
  ...kinds("number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
  ...kinds("number", [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
  ]),
  ...kinds("number", ["minContains", "maxContains"]),
};

/**
 * Writes the JSON Schema of a tool, of any draft, for an OpenAPI 3.1 document: without references, so that importers which
 * do not follow them, or follow them without end, can read it. What refers to nothing, to another document or back to itself
 * becomes "anything", and so does what grows too large by its references. No schema is a boolean but
 * `additionalProperties` and the like: importers look for keys in them.
 */
export function inlineSchema(schema: Json): Json {
  return new SchemaWriter(schema).write();
}

/** One schema on its way into a document. */
class SchemaWriter {
  readonly #root: Json;
  /** Schemas being written, by identity: references lead back to them, and a plugin's own objects may be circular. */
  readonly #open = new Set<unknown>();
  /** References that are being followed. */
  #hops = 0;
  #added = 0;

  constructor(root: Json) {
    this.#root = root;
  }

  write(): Json {
    return this.#convert(this.#root);
  }

  #convert(schema: unknown): Json {
    if (schema === false) return { not: {} };
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return {};
    if (this.#open.has(schema) || this.#open.size >= MAX_DEPTH || this.#isTooLarge(LEAST))
      return {};
    this.#open.add(schema);
    const converted = this.#convertObject(schema as Json);
    this.#open.delete(schema);
    return converted;
  }

  #convertObject(schema: Json): Json {
    const reference = schema["$ref"] ?? schema["$recursiveRef"] ?? schema["$dynamicRef"];
    if (typeof reference === "string") return this.#resolve(reference, schema);
    const out: Json = {};
    for (const [keyword, value] of Object.entries(schema)) this.#put(out, keyword, value, schema);
    return out;
  }

  /** What is said beside a reference is nearer to its place than what is said at its target. */
  #resolve(reference: string, schema: Json): Json {
    this.#hops++;
    const target = this.#convert(followReference(this.#root, reference));
    this.#hops--;
    const { description } = schema;
    return typeof description === "string" ? { ...target, description } : target;
  }

  #put(out: Json, keyword: string, value: unknown, schema: Json): void {
    if (DROPPED.has(keyword)) return;
    if (keyword === "items" && Array.isArray(value)) {
      // A tuple, before 2020-12.
      out["prefixItems"] = value.map((item) => this.#convert(item));
      if ("additionalItems" in schema) out["items"] = this.#convert(schema["additionalItems"]);
    } else if (
      (keyword === "exclusiveMinimum" || keyword === "exclusiveMaximum") &&
      value === true
    ) {
      putExclusive(out, keyword, schema);
    } else if (keyword === "dependencies") this.#putDependencies(out, asObject(value));
    else if (FLAG.has(keyword) && typeof value === "boolean") out[keyword] = value;
    else if (SCHEMA.has(keyword) || FLAG.has(keyword)) out[keyword] = this.#convert(value);
    else if (LIST.has(keyword)) this.#putList(out, keyword, value);
    else if (MAP.has(keyword)) out[keyword] = this.#convertMap(asObject(value));
    else if (!(keyword === "id" && typeof value === "string")) this.#putData(out, keyword, value);
  }

  #putList(out: Json, keyword: string, value: unknown): void {
    if (Array.isArray(value) && value.length > 0)
      out[keyword] = value.map((item) => this.#convert(item));
  }

  #convertMap(map: Json): Json {
    return Object.fromEntries(
      Object.entries(map).map(([key, schema]) => [key, this.#convert(schema)]),
    );
  }

  /** `dependencies` of draft 7 and before was split in two. */
  #putDependencies(out: Json, dependencies: Json): void {
    const entries = Object.entries(dependencies);
    const lists = entries.filter(([, value]) => Array.isArray(value));
    const schemas = entries.filter(([, value]) => !Array.isArray(value));
    if (lists.length > 0) out["dependentRequired"] = Object.fromEntries(lists);
    if (schemas.length > 0) out["dependentSchemas"] = this.#convertMap(Object.fromEntries(schemas));
  }

  /** Copies a value that is not a schema; what is not JSON, or of the wrong kind, is left out. */
  #putData(out: Json, keyword: string, value: unknown): void {
    if (Object.hasOwn(DATA, keyword) && !DATA[keyword]!(value)) return;
    // Draft 4 had a boolean beside it, which took its place.
    if (keyword in out) return;
    try {
      const text = JSON.stringify(value);
      if (!this.#isTooLarge(text.length)) out[keyword] = JSON.parse(text);
    } catch {
      // Circular or too deep: an example nobody could write down.
    }
  }

  /** Counts what a reference adds. What stands there anyway is as large as its server sent it. */
  #isTooLarge(length: number): boolean {
    if (this.#hops > 0) this.#added += length;
    return this.#hops > 0 && this.#added > MAX_ADDED;
  }
}

function kinds(
  kind: "string" | "boolean" | "number",
  keywords: readonly string[],
): Record<string, (value: unknown) => boolean> {
  return Object.fromEntries(keywords.map((keyword) => [keyword, (value) => typeof value === kind]));
}

/** Draft 4 had a boolean beside `minimum`. */
function putExclusive(
  out: Json,
  keyword: "exclusiveMinimum" | "exclusiveMaximum",
  schema: Json,
): void {
  const bound = keyword === "exclusiveMinimum" ? "minimum" : "maximum";
  if (typeof schema[bound] !== "number") return;
  out[keyword] = schema[bound];
  delete out[bound];
}

function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}
