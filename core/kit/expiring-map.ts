import { FairArrivals } from "./fair-quota.ts";

interface Entry<V> {
  readonly value: V;
  readonly until: number;
  readonly owner: string;
}

/**
 * Values that are known until a point in time, by key; bounded, and the oldest of the owner with the most goes. For what was found
 * out about a token: keys are digests, so that no token is kept.
 *
 * @example
 * const known = new ExpiringMap<Principal>(10_000);
 * known.set(digest, principal, expiresAt, principal.ref);
 */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #arrivals = new FairArrivals();
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
    this.#delete(key);
    return undefined;
  }

  /**
   * @param until end of its time, in milliseconds since 1970
   * @param owner whose it is: who has many pushes out their own, and nobody else's; default: all are one's
   */
  set(key: string, value: V, until: number, owner = ""): void {
    this.#delete(key);
    if (this.#entries.size >= this.#maxEntries) this.#delete(this.#arrivals.surplus(owner)!);
    this.#entries.set(key, { value, until, owner });
    this.#arrivals.add(owner, key);
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#arrivals.delete(entry.owner, key);
  }
}
