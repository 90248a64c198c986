/** Something that can be on one {@link Roster} at a time. */
export interface Seated {
  /** Its place; -1 = on no roster. Belongs to the roster. */
  seat: number;
}

/**
 * A set of things that come and go with every call. Not a `Set`: V8 chains each outgrown table of a Set to the next one, so a
 * table that got old keeps all later ones alive, with every call that was on them, until a full collection. With 64 calls in
 * flight that made garbage collection a third of a call.
 */
export class Roster<T extends Seated> {
  /** Never shrinks: a store that V8 replaces would keep its members alive too. */
  readonly #seats: (T | undefined)[] = [];
  #size = 0;

  /** How many are on it. */
  get size(): number {
    return this.#size;
  }

  /** Puts something on it that is on no other. */
  add(member: T): void {
    if (member.seat >= 0) return;
    member.seat = this.#size;
    this.#seats[this.#size++] = member;
  }

  /** Takes something off; tells whether it was there. */
  delete(member: T): boolean {
    const { seat } = member;
    if (seat < 0 || this.#seats[seat] !== member) return false;
    const last = this.#seats[--this.#size]!;
    this.#seats[seat] = last;
    last.seat = seat;
    this.#seats[this.#size] = undefined;
    member.seat = -1;
    return true;
  }

  /** Takes off everything. */
  clear(): void {
    for (const member of this) this.delete(member);
  }

  /** Those that are on it at this moment, in no order; members may come and go meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return (this.#seats.slice(0, this.#size) as T[])[Symbol.iterator]();
  }
}
