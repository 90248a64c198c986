import type { Entry } from "./entry.ts";

/** How much may be remembered. */
export interface RingLimits {
  readonly entries: number;
  /** Bytes, as estimated. */
  readonly memory: number;
}

/** The last calls, oldest first. Never holds more than its limits. */
export class Ring {
  readonly #entries = new Map<number, Entry>();
  #bytes = 0;
  #next = 1;

  /** Estimated memory of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Adds an entry under the next number and drops the oldest until the limits hold. */
  push(entry: Omit<Entry, "number">, { entries, memory }: RingLimits): void {
    const number = this.#next++;
    this.#entries.set(number, { ...entry, number });
    this.#bytes += entry.bytes;
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#entries.size <= entries && this.#bytes <= memory) break;
      this.#entries.delete(oldest);
      this.#bytes -= bytes;
    }
  }

  /** The entries as they are now, oldest first. */
  all(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  find(id: string): Entry | undefined {
    return this.all().find((entry) => entry.id === id);
  }

  /** Forgets everything and says how much that was. */
  clear(): number {
    const { size } = this.#entries;
    this.#entries.clear();
    this.#bytes = 0;
    return size;
  }
}
