/**
 * Values that are known until a point in time, by key; bounded, and the oldest goes. For what was found out about a token: keys are
 * digests, so that no token is kept.
 *
 * @example
 * const known = new ExpiringMap<Principal>(10_000);
 * known.set(digest, principal, expiresAt);
 */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly until: number }>();
  readonly #maxEntries: number;

  /** @param maxEntries most values that are kept, at least 1 */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** How many values are kept, those included whose time is over. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value of a key, while its time lasts. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (Date.now() < entry.until) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  /** @param until end of its time, in milliseconds since 1970 */
  set(key: string, value: V, until: number): void {
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#maxEntries && oldest !== undefined)
      this.#entries.delete(oldest);
    this.#entries.set(key, { value, until });
  }
}
