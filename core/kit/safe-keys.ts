import type { Json } from "../call/types.ts";
import { isObject } from "./json.ts";
import { unescapePart } from "./json-pointer.ts";
import { toToolName, UniqueNames } from "./tool-name.ts";

/** Keys that the interfaces of models take; one other key makes them refuse every tool of every server. */
const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;
/** Keywords whose values are data, not schemas (JSON Schema 2020-12). */
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/** Keywords that list names of properties. */
const NAMES: ReadonlySet<string> = new Set(["required"]);
/** Keywords that hold schemas by the name of a property, and by another name. */
const BY_PROPERTY: ReadonlySet<string> = new Set(["properties", "dependentSchemas"]);
const BY_NAME: ReadonlySet<string> = new Set(["$defs", "definitions", "patternProperties"]);

/**
 * Whether every model's interface takes a key of an argument.
 *
 * @example const odd = Object.keys(properties).filter((key) => !isSafeKey(key)); // "filter[x]"
 */
export function isSafeKey(key: string): boolean {
  return SAFE.test(key);
}

/**
 * A JSON Schema whose properties have keys that every model takes, at any depth, and the way back. A name stands nowhere else in
 * the schema, so that it means one property.
 *
 * @example
 * const safe = SafeKeys.of(tool.inputSchema);
 * const args = safe ? safe.restore(call.args) : call.args;
 */
export class SafeKeys {
  /** With the keys that models take. */
  readonly schema: Json;
  readonly #names: UniqueNames;
  readonly #aliases = new Map<string, string>();
  readonly #originals = new Map<string, string>();

  private constructor(schema: Json, keys: ReadonlySet<string>) {
    this.#names = new UniqueNames(keys);
    this.schema = this.#fit(schema) as Json;
  }

  /** @returns `undefined` for a schema whose keys are safe as they are */
  static of(schema: Json): SafeKeys | undefined {
    const keys = new Set<string>();
    collectKeys(schema, keys);
    for (const key of keys) if (!SAFE.test(key)) return new SafeKeys(schema, keys);
    return undefined;
  }

  /** A value with the keys of the schema that was given. */
  restore<T>(value: T): T {
    return renameKeys(value, (key) => this.#originals.get(key) ?? key) as T;
  }

  #alias(key: string): string {
    if (SAFE.test(key)) return key;
    const known = this.#aliases.get(key);
    if (known !== undefined) return known;
    const alias = this.#names.take(toToolName(key) || "key");
    this.#aliases.set(key, alias);
    this.#originals.set(alias, key);
    return alias;
  }

  #fit(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#fit(each));
    if (!isObject(schema)) return schema;
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#fitKeyword(keyword, value)]),
    );
  }

  #fitKeyword(keyword: string, value: unknown): unknown {
    if (DATA.has(keyword)) return renameKeys(value, (key) => this.#aliases.get(key) ?? key);
    if (NAMES.has(keyword) && Array.isArray(value))
      return value.map((name: unknown) => (typeof name === "string" ? this.#alias(name) : name));
    if (keyword === "$ref" && typeof value === "string") return this.#fitReference(value);
    if (!isObject(value)) return this.#fit(value);
    if (BY_PROPERTY.has(keyword)) return this.#fitMembers(value, (key) => this.#alias(key));
    return BY_NAME.has(keyword) ? this.#fitMembers(value, (key) => key) : this.#fit(value);
  }

  #fitMembers(members: Json, nameOf: (key: string) => string): Json {
    const entries = Object.entries(members);
    return Object.fromEntries(entries.map(([key, each]) => [nameOf(key), this.#fit(each)]));
  }

  /** A pointer into the schema may go through a property (RFC 6901). */
  #fitReference(reference: string): string {
    return reference.replaceAll(/\/properties\/([^/]+)/g, (whole, token: string) => {
      const key = unescapePart(token);
      return SAFE.test(key) ? whole : `/properties/${this.#alias(key)}`;
    });
  }
}

/** Names of properties, wherever they stand, also among data. */
function collectKeys(value: unknown, keys: Set<string>): void {
  if (Array.isArray(value)) for (const each of value) collectKeys(each, keys);
  else if (isObject(value)) {
    for (const [keyword, each] of Object.entries(value)) {
      if (BY_PROPERTY.has(keyword) && isObject(each))
        for (const key of Object.keys(each)) keys.add(key);
      collectKeys(each, keys);
    }
  }
}

function renameKeys(value: unknown, nameOf: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renameKeys(each, nameOf));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [nameOf(key), renameKeys(each, nameOf)]),
  );
}
