/**
 * How much each principal has of what is bounded. At the bound the one with the most makes way, so that nobody can crowd out
 * others.
 *
 * @example
 * const shares = new FairQuota();
 * shares.add(principal.ref);
 * if (shares.of(principal.ref) > 100) throw new GatewayError("rate_limited", "Too many at once.");
 */
export class FairQuota {
  readonly #amounts = new Map<string, number>();

  /** Counts more, or less for an amount below zero: one more unless it is said. */
  add(principal: string, amount = 1): void {
    const now = this.of(principal) + amount;
    if (now > 0) this.#amounts.set(principal, now);
    else this.#amounts.delete(principal);
  }

  /** Counts less. */
  remove(principal: string, amount = 1): void {
    this.add(principal, -amount);
  }

  /** Tells of principals whether nobody would have more than they, once `newcomer` had one more. */
  largestWith(newcomer: string): (principal: string) => boolean {
    const withNew = (principal: string): number =>
      this.of(principal) + (principal === newcomer ? 1 : 0);
    let most = withNew(newcomer);
    for (const amount of this.#amounts.values()) most = Math.max(most, amount);
    return (principal) => withNew(principal) === most;
  }

  /** How much a principal has. */
  of(principal: string): number {
    return this.#amounts.get(principal) ?? 0;
  }
}

interface Place<T> {
  readonly value: T;
  before: Place<T> | undefined;
  after: Place<T> | undefined;
}

/**
 * Values in the order in which they came. The first of a Set is found behind all that were deleted before it, which are thousands
 * where one goes for each that comes; here it is found at once.
 */
export class Arrivals<T> {
  readonly #places = new Map<T, Place<T>>();
  #first: Place<T> | undefined;
  #last: Place<T> | undefined;

  get size(): number {
    return this.#places.size;
  }

  has(value: T): boolean {
    return this.#places.has(value);
  }

  /** Puts one at the end; one that is there stays where it is. */
  add(value: T): void {
    if (this.#places.has(value)) return;
    const place: Place<T> = { value, before: this.#last, after: undefined };
    this.#places.set(value, place);
    if (this.#last) this.#last.after = place;
    this.#first ??= place;
    this.#last = place;
  }

  /** @returns whether it was there */
  delete(value: T): boolean {
    const place = this.#places.get(value);
    if (!place) return false;
    this.#places.delete(value);
    const { before, after } = place;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    return true;
  }

  get first(): T | undefined {
    return this.#first?.value;
  }

  /** From the first; what has its turn may be deleted meanwhile. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let place = this.#first; place; place = place.after) yield place.value;
  }
}

/**
 * Keys of owners in the order in which they came. At the bound the oldest of the owner with the most gives way: it is found at once,
 * however many there are.
 *
 * @example
 * if (keys.size >= 10_000) forget(arrivals.surplus(owner));
 * arrivals.add(owner, key);
 */
export class FairArrivals {
  readonly #keys = new Map<string, Arrivals<string>>();
  /** Owners by how many keys they have. */
  readonly #ranks = new Map<number, Arrivals<string>>();
  #most = 0;

  /** Adds a key that its owner does not have. */
  add(owner: string, key: string): void {
    const keys = fetchOf(this.#keys, owner);
    keys.add(key);
    this.#rank(owner, keys.size - 1, keys.size);
  }

  /** Removes a key that its owner has. */
  delete(owner: string, key: string): void {
    const keys = this.#keys.get(owner)!;
    keys.delete(key);
    if (keys.size === 0) this.#keys.delete(owner);
    this.#rank(owner, keys.size + 1, keys.size);
  }

  /** The key that gives way to one more of `newcomer`: its own if it had the most then. `undefined`: nobody has any. */
  surplus(newcomer: string): string | undefined {
    const own = this.#keys.get(newcomer);
    if (own && own.size + 1 >= this.#most) return own.first;
    const largest = this.#ranks.get(this.#most)?.first;
    return largest === undefined ? undefined : this.#keys.get(largest)!.first;
  }

  /** @param from how many it had @param to one more or less */
  #rank(owner: string, from: number, to: number): void {
    const before = this.#ranks.get(from);
    before?.delete(owner);
    if (before?.size === 0) this.#ranks.delete(from);
    if (to > 0) fetchOf(this.#ranks, to).add(owner);
    if (to > this.#most || (from === this.#most && !this.#ranks.has(from))) this.#most = to;
  }
}

function fetchOf<K>(all: Map<K, Arrivals<string>>, key: K): Arrivals<string> {
  let found = all.get(key);
  if (!found) all.set(key, (found = new Arrivals()));
  return found;
}
