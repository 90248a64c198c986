/**
 * The values that were used of late, by key. Two maps in place of an order of use: a look-up of what is in use changes nothing,
 * so it costs no more than one in a Map.
 *
 * @example
 * const views = new Recent<View>(1_000);
 * const view = views.get(key) ?? build(key);
 */
export class Recent<V> {
  readonly #half: number;
  #young = new Map<string, V>();
  #old: ReadonlyMap<string, V> = new Map();

  /** @param max most values that are kept */
  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }

  /** What was set; `undefined` once that made room for others. */
  get(key: string): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  /** Keeps a value; the one used least of late may have to go. */
  set(key: string, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  /** Forgets everything. */
  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }
}
