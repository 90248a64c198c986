import type { Json } from "propylon";

/** Nesting beyond which a schema is cut to "anything". */
const MAX_DEPTH = 40;
const ANY: Json = {};

/** Keywords that identify or annotate a schema for its own document and mean nothing inside another. */
const DROPPED = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$dynamicAnchor",
  "$recursiveAnchor",
  "$vocabulary",
  "$comment",
  "additionalItems",
]);
/** Keywords whose value is a schema. */
const SCHEMA = new Set([
  "items",
  "additionalProperties",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "contentSchema",
]);
/** Keywords whose value is a list of schemas. */
const LIST = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
/** Keywords whose value has schemas by name. */
const MAP = new Set(["properties", "patternProperties", "dependentSchemas"]);
const DEFINITION = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/**
 * Brings the JSON Schema of a tool, of any draft, into the `components.schemas` of an OpenAPI 3.1 document: definitions get
 * names of their own and `$ref`s follow them. What refers to nothing, to another document or in circles only to itself
 * becomes "anything" (M157).
 *
 * @param name of the schema there; its definitions are called `<name>_<definition>`
 * @returns a reference to it
 */
export function importSchema(schema: Json, name: string, schemas: Record<string, unknown>): Json {
  return new SchemaImport(schema, name, schemas).run();
}

/** A name as it may stand in `components` (OpenAPI 3.1, section 4.8.7) and in generated code. */
export function toComponentName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]+/g, "_");
}

/** The name, with a number behind it where it is taken. */
export function unique(name: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(name)) return name;
  let count = 2;
  while (isTaken(`${name}_${count}`)) count++;
  return `${name}_${count}`;
}

/** One schema on its way into a document. */
class SchemaImport {
  readonly #root: Json;
  readonly #name: string;
  readonly #schemas: Record<string, unknown>;
  /** Component names by definition key. */
  readonly #definitions = new Map<string, string>();
  /** Schemas being walked through, by identity: a plugin's own objects may be circular. */
  readonly #open = new Set<unknown>();

  constructor(root: Json, name: string, schemas: Record<string, unknown>) {
    this.#root = root;
    this.#schemas = schemas;
    this.#name = unique(name, (taken) => Object.hasOwn(schemas, taken));
  }

  run(): Json {
    const definitions = {
      ...asObject(this.#root["definitions"]),
      ...asObject(this.#root["$defs"]),
    };
    // The name is reserved before anything refers to it.
    this.#schemas[this.#name] = ANY;
    for (const key of Object.keys(definitions)) {
      const wanted = `${this.#name}_${toComponentName(key)}`;
      const name = unique(wanted, (taken) => Object.hasOwn(this.#schemas, taken));
      this.#schemas[name] = ANY;
      this.#definitions.set(key, name);
    }
    for (const [key, definition] of Object.entries(definitions))
      this.#schemas[this.#definitions.get(key)!] = this.#convert(definition);
    this.#schemas[this.#name] = this.#convert(this.#root);
    return refTo(this.#name);
  }

  #convert(schema: unknown): unknown {
    if (typeof schema === "boolean") return schema;
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return ANY;
    if (this.#open.has(schema) || this.#open.size >= MAX_DEPTH) return ANY;
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

  #put(out: Json, keyword: string, value: unknown, schema: Json): void {
    if (DROPPED.has(keyword) || keyword === "$defs" || keyword === "definitions") return;
    if (keyword === "items" && Array.isArray(value)) {
      // A tuple, before 2020-12.
      out["prefixItems"] = value.map((item) => this.#convert(item));
      if ("additionalItems" in schema) out["items"] = this.#convert(schema["additionalItems"]);
    } else if (keyword === "exclusiveMinimum" || keyword === "exclusiveMaximum") {
      putExclusive(out, keyword, value, schema);
    } else if (keyword === "dependencies") this.#putDependencies(out, asObject(value));
    else if (SCHEMA.has(keyword)) out[keyword] = this.#convert(value);
    else if (LIST.has(keyword) && Array.isArray(value))
      out[keyword] = value.map((item) => this.#convert(item));
    else if (MAP.has(keyword)) out[keyword] = this.#convertMap(asObject(value));
    else if (!(keyword === "id" && typeof value === "string")) putData(out, keyword, value);
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

  /** Named definitions stay references, so that recursion is kept; a pointer to any other place is replaced by what is there. */
  #resolve(reference: string, schema: Json): Json {
    const pointer = this.#localPart(reference);
    const target = this.#target(pointer);
    if (target === undefined || this.#isEndless(schema)) return ANY;
    const key = pointer === "#" ? undefined : definitionKey(pointer);
    const description = schema["description"];
    const about = typeof description === "string" ? { description } : {};
    if (pointer === "#") return { ...refTo(this.#name), ...about };
    const name = key === undefined ? undefined : this.#definitions.get(key);
    if (name !== undefined) return { ...refTo(name), ...about };
    const inline = this.#convert(target);
    return typeof inline === "object" && inline !== null ? { ...inline, ...about } : ANY;
  }

  /** A reference with the root's own `$id` in front is a local one. */
  #localPart(reference: string): string {
    const id = this.#root["$id"];
    return typeof id === "string" && id !== "" && reference.startsWith(`${id}#`)
      ? reference.slice(id.length)
      : reference;
  }

  /** What a local pointer leads to. */
  #target(pointer: string): unknown {
    if (pointer === "#") return this.#root;
    if (!pointer.startsWith("#/")) return undefined;
    let at: unknown = this.#root;
    for (const segment of pointer.slice(2).split("/")) {
      const key = unescape(segment);
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
      at = (at as Json)[key];
    }
    return at;
  }

  /** Whether a reference leads over nothing but references back to itself. */
  #isEndless(schema: Json): boolean {
    const seen = new Set<unknown>();
    let at: unknown = schema;
    while (typeof at === "object" && at !== null && typeof (at as Json)["$ref"] === "string") {
      if (seen.has(at)) return true;
      seen.add(at);
      at = this.#target(this.#localPart((at as Json)["$ref"] as string));
    }
    return false;
  }
}

function refTo(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function definitionKey(pointer: string): string | undefined {
  const segment = DEFINITION.exec(pointer)?.[1];
  return segment === undefined ? undefined : unescape(segment);
}

/** RFC 6901, as a URI fragment. */
function unescape(segment: string): string {
  const plain = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

/** Draft 4 had a boolean beside `minimum`. */
function putExclusive(
  out: Json,
  keyword: "exclusiveMinimum" | "exclusiveMaximum",
  value: unknown,
  schema: Json,
): void {
  if (typeof value === "number") out[keyword] = value;
  else if (value === true) {
    const bound = keyword === "exclusiveMinimum" ? "minimum" : "maximum";
    out[keyword] = schema[bound];
    delete out[bound];
  }
}

/** Copies a value that is no schema; what is no JSON is left out. */
function putData(out: Json, keyword: string, value: unknown): void {
  try {
    out[keyword] = JSON.parse(JSON.stringify(value));
  } catch {
    // Circular or too deep: an example nobody could write down.
  }
}

function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}
