import { isObject, isSafeKey, toToolName, UniqueNames } from "propylon/kit";

/** Names for the properties of a document that clients do not take as they are. */
export class SafeNames {
  /** What was written, by the name in its place. */
  readonly originals = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  readonly #documents: () => Iterable<unknown>;
  #names: UniqueNames | undefined;

  /** @param documents asked once there is a name to replace */
  constructor(documents: () => Iterable<unknown>) {
    this.#documents = documents;
  }

  /** A name itself, or another one for it that stands nowhere in the document. */
  alias(name: string): string {
    if (isSafeKey(name)) return name;
    const known = this.#aliases.get(name);
    if (known !== undefined) return known;
    this.#names ??= new UniqueNames(keysOf(this.#documents()));
    const alias = this.#names.take(toToolName(name) || "value");
    this.#aliases.set(name, alias);
    this.originals.set(alias, name);
    return alias;
  }
}

/** Every key of every map: whether it names a property is not asked. */
function keysOf(values: Iterable<unknown>, found = new Set<string>()): Set<string> {
  for (const value of values) {
    if (Array.isArray(value)) keysOf(value, found);
    else if (isObject(value)) {
      for (const key of Object.keys(value)) found.add(key);
      keysOf(Object.values(value), found);
    }
  }
  return found;
}
