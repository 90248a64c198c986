import type { Json } from "./types.ts";
import { isObject } from "./json.ts";
import { unescapePart } from "./json-pointer.ts";
import { toToolName, UniqueNames } from "./tool-name.ts";

/** Keys that the interfaces of models take; one other key makes them refuse every tool of every server. */
const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;
/** Keywords whose values are data, not schemas (JSON Schema 2020-12). */
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
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
 * Names that every model takes, for keys of which some do not. One that is given stands nowhere among the keys there are.
 *
 * @example
 * const names = new SafeNames(() => Object.keys(properties), "key");
 * names.alias("filter[x]"); // "filter_x"
 */
export class SafeNames {
  /** The keys themselves, by the name in their place. */
  readonly originals = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  readonly #taken: () => Iterable<string>;
  readonly #fallback: string;
  #names: UniqueNames | undefined;

  /**
   * @param taken the keys there are; asked once there is one to replace
   * @param fallback where nothing is left of a key
   */
  constructor(taken: () => Iterable<string>, fallback: string) {
    this.#taken = taken;
    this.#fallback = fallback;
  }

  /** A key itself, or the name in its place. */
  alias(key: string): string {
    if (isSafeKey(key)) return key;
    const known = this.#aliases.get(key);
    if (known !== undefined) return known;
    this.#names ??= new UniqueNames(this.#taken());
    const alias = this.#names.take(toToolName(key) || this.#fallback);
    this.#aliases.set(key, alias);
    this.originals.set(alias, key);
    return alias;
  }

  /** The name in the place of a key if there is one already, else the key. */
  known(key: string): string {
    return this.#aliases.get(key) ?? key;
  }
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
  readonly #names: SafeNames;

  private constructor(schema: Json, keys: ReadonlySet<string>) {
    this.#names = new SafeNames(() => keys, "key");
    this.schema = this.#fit(schema) as Json;
  }

  /** @returns `undefined` for a schema whose keys are safe as they are */
  static of(schema: Json): SafeKeys | undefined {
    const keys = new Set<string>();
    collectKeys(schema, keys);
    for (const key of keys) if (!isSafeKey(key)) return new SafeKeys(schema, keys);
    return undefined;
  }

  /** A value with the keys of the schema that was given. */
  restore<T>(value: T): T {
    return renameKeys(value, (key) => this.#names.originals.get(key) ?? key) as T;
  }

  #fit(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#fit(each));
    if (!isObject(schema)) return schema;
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#fitKeyword(keyword, value)]),
    );
  }

  #fitKeyword(keyword: string, value: unknown): unknown {
    if (DATA.has(keyword)) return renameKeys(value, (key) => this.#names.known(key));
    if (keyword === "required" && Array.isArray(value))
      return value.map((name: unknown) =>
        typeof name === "string" ? this.#names.alias(name) : name,
      );
    if (keyword === "$ref" && typeof value === "string") return this.#fitReference(value);
    if (!isObject(value)) return this.#fit(value);
    if (BY_PROPERTY.has(keyword)) return this.#fitMembers(value, (key) => this.#names.alias(key));
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
      return isSafeKey(key) ? whole : `/properties/${this.#names.alias(key)}`;
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
