import type { Entry } from "./entry.ts";

/** How much may be remembered. */
export interface RingLimits {
  readonly entries: number;
  /** Bytes, as estimated. */
  readonly memory: number;
}

/** Places before the oldest entry that may stay empty before they are given back. */
const MAX_EMPTY = 1_024;

/** The last calls, oldest first. Never holds more than its limits. */
export class Ring {
  #entries: (Entry | undefined)[] = [];
  /** Place of the oldest entry. */
  #oldest = 0;
  #bytes = 0;
  #next = 1;

  /** Estimated memory of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.length - this.#oldest;
  }

  /** A number for the next entry; rises with each. */
  nextNumber(): number {
    return this.#next++;
  }

  /** Adds an entry and drops the oldest until the limits hold. */
  push(entry: Entry, { entries, memory }: RingLimits): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    while (this.size > entries || this.#bytes > memory) this.#drop();
    if (this.#oldest > MAX_EMPTY && this.#oldest > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#oldest);
      this.#oldest = 0;
    }
  }

  /** The entries as they are now, oldest first. */
  all(): readonly Entry[] {
    return this.#entries.slice(this.#oldest) as Entry[];
  }

  find(id: string): Entry | undefined {
    return this.#entries.find((entry) => entry?.id === id);
  }

  /** Forgets everything and says how much that was. */
  clear(): number {
    const { size } = this;
    this.#entries = [];
    this.#oldest = 0;
    this.#bytes = 0;
    return size;
  }

  #drop(): void {
    this.#bytes -= this.#entries[this.#oldest]!.bytes;
    this.#entries[this.#oldest++] = undefined;
  }
}
