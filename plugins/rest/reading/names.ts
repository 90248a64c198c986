import { isObject, toToolName } from "propylon/kit";

/** Keys of properties that models' interfaces take; one other key makes them refuse every tool of every server. */
const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_LENGTH = 64;

/** Names for the properties of a document that clients do not take as they are. */
export class SafeNames {
  /** What was written, by the name in its place. */
  readonly originals = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #documents: () => Iterable<unknown>;
  #taken: Set<string> | undefined;

  /** @param documents asked once there is a name to replace */
  constructor(documents: () => Iterable<unknown>) {
    this.#documents = documents;
  }

  /** A name itself, or another one for it that stands nowhere in the document. */
  alias(name: string): string {
    if (SAFE.test(name)) return name;
    const known = this.#aliases.get(name);
    if (known !== undefined) return known;
    this.#taken ??= keysOf(this.#documents());
    const alias = this.#free(toToolName(name) || "value", this.#taken);
    this.#taken.add(alias);
    this.#aliases.set(name, alias);
    this.originals.set(alias, name);
    return alias;
  }

  /** Counts on where it stopped: thousands of names that are alike in their beginning would be tried one after the other. */
  #free(wanted: string, taken: ReadonlySet<string>): string {
    let free = wanted;
    while (taken.has(free)) {
      const count = (this.#counts.get(wanted) ?? 1) + 1;
      this.#counts.set(wanted, count);
      free = `${wanted.slice(0, MAX_LENGTH - 1 - String(count).length)}_${count}`;
    }
    return free;
  }
}

/** Whether a name can be the key of a property. */
export function isSafe(name: string): boolean {
  return SAFE.test(name);
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
