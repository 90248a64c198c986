import type { Json } from "propylon";
import { isObject } from "propylon/kit";
import { shownReference, type References } from "./references.ts";

/** Whether a schema describes what is sent or what comes back: `readOnly` and `writeOnly` depend on it. */
export type Direction = "input" | "output";

/** Keywords of OpenAPI that JSON Schema does not have, or that would change what references mean. */
const DROPPED: ReadonlySet<string> = new Set([
  "discriminator",
  "xml",
  "externalDocs",
  "example",
  "nullable",
  "$id",
  "$schema",
  "$anchor",
]);
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

/**
 * Writes schemas of OpenAPI 3.0 and 3.1 as JSON Schema 2020-12 for one tool. What is referred to goes to `$defs` once, so that
 * neither a schema that contains itself nor one that doubles at every level can grow without end.
 */
export class SchemaWriter {
  /** What `$defs` must hold in the end. */
  readonly definitions: Json = {};
  readonly #references: References;
  readonly #direction: Direction;
  readonly #names = new Map<string, string>();

  constructor(references: References, direction: Direction) {
    this.#references = references;
    this.#direction = direction;
  }

  /** The schema of a node; `{}` accepts anything. */
  write(node: unknown): Json | boolean {
    if (typeof node === "boolean") return node;
    if (!isObject(node)) return {};
    if (typeof node["$ref"] === "string") return this.#refer(node["$ref"], node);
    const schema: Json = {};
    for (const [key, value] of Object.entries(node)) this.#keyword(schema, key, value);
    if (node["example"] !== undefined) schema["examples"] ??= [node["example"]];
    upgrade(schema, node);
    this.#require(schema);
    return schema;
  }

  /** Adds `$defs` to a finished schema. */
  finish(schema: Json): Json {
    const hasAny = Object.keys(this.definitions).length > 0;
    return hasAny ? { ...schema, $defs: this.definitions } : schema;
  }

  #refer(reference: string, { description }: Json): Json {
    let name = this.#names.get(reference);
    if (name === undefined) {
      name = this.#newName(reference);
      this.#names.set(reference, name);
      this.definitions[name] = {};
      this.definitions[name] = this.write(this.#references.get(reference));
    }
    return { ...(typeof description === "string" && { description }), $ref: `#/$defs/${name}` };
  }

  #newName(reference: string): string {
    const last =
      reference
        .split("/")
        .at(-1)!
        .replaceAll(/[^A-Za-z0-9_.-]/g, "_") || "schema";
    let name = last;
    for (let next = 2; Object.hasOwn(this.definitions, name); next++) name = `${last}_${next}`;
    return name;
  }

  #keyword(schema: Json, key: string, value: unknown): void {
    if (DROPPED.has(key) || key.startsWith("x-")) return;
    if (MAPS.has(key) && isObject(value))
      schema[key] = Object.fromEntries(
        Object.entries(value)
          .filter(([, property]) => !this.#isHidden(property))
          .map(([name, property]) => [name, this.write(property)]),
      );
    else if (LISTS.has(key) && Array.isArray(value))
      schema[key] = value.map((each) => this.write(each));
    else if (SINGLES.has(key)) schema[key] = this.write(value);
    else schema[key] = withoutFiles(value);
  }

  #isHidden(property: unknown): boolean {
    const schema = isObject(property) ? this.#references.follow(property) : property;
    if (!isObject(schema)) return false;
    return schema[this.#direction === "input" ? "readOnly" : "writeOnly"] === true;
  }

  /** A property that is not there cannot be required. */
  #require(schema: Json): void {
    const { required, properties } = schema;
    if (!Array.isArray(required) || !isObject(properties)) return;
    const left = required.filter((name) => Object.hasOwn(properties, String(name)));
    if (left.length > 0) schema["required"] = left;
    else delete schema["required"];
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
    if (!node[exclusive] || node[bound] === undefined) continue;
    schema[exclusive] = node[bound];
    delete schema[bound];
  }
  if (node["nullable"] !== true) return;
  if (typeof schema["type"] === "string") schema["type"] = [schema["type"], "null"];
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(null))
    schema["enum"] = [...(schema["enum"] as unknown[]), null];
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
