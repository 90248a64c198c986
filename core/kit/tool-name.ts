/** Longest name that models' interfaces take for a tool. */
const MAX_NAME = 64;
/** How much of a text is looked at. */
const MAX_TEXT = 256;

/**
 * A text as the name of a tool, in `[A-Za-z0-9_.-]` and at most 64 characters; empty where nothing is left of it.
 *
 * @example const name = toToolName("GET /pets/{id}"); // "GET_pets_id"
 */
export function toToolName(text: string): string {
  // Cut first: a long run of underscores would be looked through once for each of them.
  return text
    .slice(0, MAX_TEXT)
    .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, MAX_NAME);
}

/** Long names that begin alike count together, since what a number takes from their ends may be all that they differ in. */
const MAX_STEM = 56;

/**
 * Names of which each is given once, with a number at its end where it was taken; at most 64 characters. A document of a stranger
 * may name 30,000 operations alike, so the next number is remembered and not looked for.
 *
 * @example
 * const names = new UniqueNames();
 * names.take("search"); // "search"
 * names.take("search"); // "search_2"
 */
export class UniqueNames {
  readonly #taken: Set<string>;
  readonly #counts = new Map<string, number>();

  /** @param taken names that are given already */
  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** Whether a name was given. */
  has(name: string): boolean {
    return this.#taken.has(name);
  }

  /**
   * Gives the name itself the first time, and the name with a number after that.
   *
   * @param mark what stands in front of the number
   */
  take(wanted: string, mark = "_"): string {
    let name = wanted;
    const stem = name.slice(0, MAX_STEM);
    let count = this.#counts.get(stem) ?? 1;
    while (this.#taken.has(name)) {
      const suffix = `${mark}${++count}`;
      name = `${wanted.slice(0, MAX_NAME - suffix.length)}${suffix}`;
    }
    if (count > 1) this.#counts.set(stem, count);
    this.#taken.add(name);
    return name;
  }
}
