import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import type { SafeNames } from "propylon/internal";
import { isKeyword } from "./keywords.ts";
import { shownReference, type References } from "./references.ts";

/** Whether a schema describes what is sent or what comes back: `readOnly` and `writeOnly` depend on it. */
export type Direction = "input" | "output";

const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const LISTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SINGLES: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
  "contentSchema",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** What is referred to, written once for all tools of a document. */
interface Definition {
  readonly schema: Json | boolean;
  /** In characters. */
  readonly size: number;
  /** Names of the definitions that it refers to. */
  readonly refers: ReadonlySet<string>;
}

/**
 * Writes schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12. What is referred to is written once for the whole document, and
 * put into the `$defs` of each tool once, so that neither a schema that contains itself nor one that doubles at every level can
 * grow without end.
 */
export class SchemaWriter {
  readonly #references: References;
  readonly #direction: Direction;
  readonly #safe: Pick<SafeNames, "alias">;
  /** Names of definitions by reference, and references by name. */
  readonly #names = new Map<string, string>();
  readonly #byName = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #definitions = new Map<string, Definition>();
  /** What the schema that is being written refers to. */
  #refers = new Set<string>();

  constructor(references: References, direction: Direction, safe: Pick<SafeNames, "alias">) {
    this.#references = references;
    this.#direction = direction;
    this.#safe = safe;
  }

  /** The schema of a node; `{}` accepts anything. Ends with {@link finish}. */
  write(node: unknown): Json | boolean {
    if (typeof node === "boolean") return node;
    if (!isObject(node)) return {};
    if (typeof node["$ref"] === "string") return this.#refer(node["$ref"], node);
    const schema: Json = {};
    for (const [key, value] of Object.entries(node)) this.#keyword(schema, key, value);
    if (node["example"] !== undefined) schema["examples"] ??= [withoutFiles(node["example"])];
    upgrade(schema, node);
    repair(schema);
    this.#require(schema, node);
    return schema;
  }

  /**
   * Adds `$defs` to a finished schema: the nearest first, as many as there is room for. What does not fit accepts anything.
   *
   * @param room in characters
   * @returns the schema, and whether all of it is there
   */
  finish(schema: Json, room: number): { readonly schema: Json; readonly isWhole: boolean } {
    const definitions: Json = {};
    let left = room - JSON.stringify(schema).length;
    let isWhole = true;
    const names = new Set(this.#refers);
    this.#refers = new Set();
    for (const name of names) {
      const { size, refers, schema: definition } = this.#definition(name);
      const fits = size <= left;
      definitions[name] = fits ? definition : {};
      if (!fits) isWhole = false;
      else left -= size;
      if (fits) for (const next of refers) names.add(next);
    }
    return { schema: names.size > 0 ? { ...schema, $defs: definitions } : schema, isWhole };
  }

  #refer(reference: string, { description }: Json): Json {
    let name = this.#names.get(reference);
    if (name === undefined) {
      name = this.#newName(reference);
      this.#names.set(reference, name);
      this.#byName.set(name, reference);
    }
    this.#refers.add(name);
    return { ...(typeof description === "string" && { description }), $ref: `#/$defs/${name}` };
  }

  #definition(name: string): Definition {
    const known = this.#definitions.get(name);
    if (known) return known;
    const schema = this.write(this.#references.get(this.#byName.get(name)!));
    const definition = { schema, size: JSON.stringify(schema).length, refers: this.#refers };
    this.#refers = new Set();
    this.#definitions.set(name, definition);
    return definition;
  }

  #newName(reference: string): string {
    const last =
      reference
        .slice(-80)
        .split("/")
        .at(-1)!
        .replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
    const count = (this.#counts.get(last) ?? 0) + 1;
    this.#counts.set(last, count);
    const name = count === 1 ? last : `${last}_${count}`;
    return this.#byName.has(name) ? this.#newName(reference) : name;
  }

  #keyword(schema: Json, key: string, value: unknown): void {
    if (!isKeyword(key, value)) return;
    if (MAPS.has(key) && isObject(value)) schema[key] = this.#map(key, value);
    else if (LISTS.has(key) && Array.isArray(value))
      schema[key] = value.map((each) => this.write(each));
    else if (SINGLES.has(key)) schema[key] = this.write(value);
    else schema[key] = withoutFiles(value);
  }

  #map(key: string, value: Json): Json {
    const isNamed = key === "properties" || key === "dependentSchemas";
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, property]) => !this.#isHidden(property))
        .filter(([name]) => key !== "patternProperties" || isKeyword("pattern", name))
        .map(([name, property]) => [isNamed ? this.#safe.alias(name) : name, this.write(property)]),
    );
  }

  #isHidden(property: unknown): boolean {
    const schema = isObject(property) ? this.#references.follow(property) : property;
    if (!isObject(schema)) return false;
    return schema[this.#direction === "input" ? "readOnly" : "writeOnly"] === true;
  }

  /** A property that is not there cannot be required; it may be in what the schema is put together of. */
  #require(schema: Json, node: Json): void {
    const { required, properties } = schema;
    if (!Array.isArray(required)) return;
    const names = (required as unknown[]).filter((name) => typeof name === "string");
    const left = isObject(properties)
      ? names.filter((name) => this.#has(node, name, new Set()))
      : names;
    if (left.length > 0)
      schema["required"] = [...new Set(left.map((name) => this.#safe.alias(name)))];
    else delete schema["required"];
  }

  #has(node: unknown, name: string, seen: Set<unknown>): boolean {
    const schema = this.#references.follow(node);
    if (!isObject(schema) || seen.has(schema)) return false;
    seen.add(schema);
    const { properties } = schema;
    if (isObject(properties) && Object.hasOwn(properties, name))
      return !this.#isHidden(properties[name]);
    return ["allOf", "anyOf", "oneOf"].some((key) => {
      const parts = schema[key];
      return Array.isArray(parts) && parts.some((part) => this.#has(part, name, seen));
    });
  }
}

/** Says in the words of 2020-12 what OpenAPI 3.0 says in those of draft 5. */
function upgrade(schema: Json, node: Json): void {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (typeof node[exclusive] !== "boolean") continue;
    delete schema[exclusive];
    if (!node[exclusive] || typeof node[bound] !== "number") continue;
    schema[exclusive] = node[bound];
    delete schema[bound];
  }
  if (node["nullable"] !== true) return;
  if (typeof schema["type"] === "string") schema["type"] = [schema["type"], "null"];
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(null))
    schema["enum"] = [...(schema["enum"] as unknown[]), null];
}

/** What OpenAPI allows and clients refuse a tool for: a list that does not say what is in it, a value that is there twice. */
function repair(schema: Json): void {
  const { type } = schema;
  const isList = type === "array" || (Array.isArray(type) && type.includes("array"));
  if (isList && schema["prefixItems"] === undefined) schema["items"] ??= {};
  const values = schema["enum"];
  if (!Array.isArray(values)) return;
  const seen = new Map(values.map((value) => [JSON.stringify(value), value as unknown]));
  schema["enum"] = [...seen.values()];
}

/** Data as it was written: looking for documents made every `$ref` absolute, and the path of a local file is nobody's business. */
function withoutFiles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutFiles);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [
    key,
    key === "$ref" && typeof part === "string" ? shownReference(part) : withoutFiles(part),
  ]);
  return Object.fromEntries(entries) as Json;
}
