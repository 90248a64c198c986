/** Something that can be on one {@link InFlightSet} at a time. */
export interface Slotted {
  /** Its place; -1 = on no roster. Belongs to the roster. */
  slot: number;
}

/**
 * A set of things that come and go with every call. Not a `Set`: V8 chains each outgrown table of a Set to the next one, so a
 * table that got old keeps all later ones alive, with every call that was on them, until a full collection. With 64 calls in
 * flight that made garbage collection a third of a call.
 */
export class InFlightSet<T extends Slotted> {
  /** Never shrinks: a store that V8 replaces would keep its members alive too. */
  readonly #slots: (T | undefined)[] = [];
  #size = 0;

  /** How many are on it. */
  get size(): number {
    return this.#size;
  }

  /** Puts something on it that is on no other. */
  add(member: T): void {
    if (member.slot >= 0) return;
    member.slot = this.#size;
    this.#slots[this.#size++] = member;
  }

  /** Takes something off; tells whether it was there. */
  delete(member: T): boolean {
    const { slot } = member;
    if (slot < 0 || this.#slots[slot] !== member) return false;
    const last = this.#slots[--this.#size]!;
    this.#slots[slot] = last;
    last.slot = slot;
    this.#slots[this.#size] = undefined;
    member.slot = -1;
    return true;
  }

  /** Takes off everything. */
  clear(): void {
    for (const member of this) this.delete(member);
  }

  /** Those that are on it at this moment, in no order; members may come and go meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return (this.#slots.slice(0, this.#size) as T[])[Symbol.iterator]();
  }
}
