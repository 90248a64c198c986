interface Place<T> {
  readonly value: T;
  before: Place<T> | undefined;
  after: Place<T> | undefined;
}

/**
 * Values in the order in which they came. The first of a Set is found behind all that were deleted before it, which are thousands
 * where one goes for each that comes; here it is found at once.
 */
export class JobLine<T> {
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

  /** From the first; what has its turn may be deleted meanwhile. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let place = this.#first; place; place = place.after) yield place.value;
  }
}
