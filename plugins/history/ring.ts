import type { Answer } from "propylon";

/** How much may be remembered. */
export interface RingLimits {
  readonly entries: number;
  /** Bytes of all records together. */
  readonly memory: number;
}

/**
 * The last calls as records of bytes, oldest first, in one block outside the heap: a call that is remembered as objects lives
 * long enough for the garbage collector to move it twice, which cost more than the rest of the plugin. Takes no memory before
 * the first record, and then never more than its limits and eight bytes per entry.
 */
export class Ring {
  /** What holds from the next record on. */
  limits: RingLimits;
  #applied: RingLimits = { entries: 0, memory: 0 };
  #block = Buffer.alloc(0);
  /** Place and length of each record, by its number modulo the number of entries. */
  #starts = new Uint32Array(0);
  #lengths = new Uint32Array(0);
  #oldest = 1;
  #next = 1;
  /** Where the next record begins. */
  #at = 0;
  #bytes = 0;

  constructor(limits: RingLimits) {
    this.limits = limits;
  }

  /** Sets what holds from the next record on. @returns takes that back, where nothing else was set since */
  bound(limits: RingLimits): () => void {
    const before = this.limits;
    this.limits = limits;
    return () => {
      if (this.limits === limits) this.limits = before;
    };
  }

  /** Bytes of all records. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#next - this.#oldest;
  }

  /** Number of the oldest record; numbers count up by one and are never used twice. */
  get oldest(): number {
    return this.#oldest;
  }

  /** Number of the record that comes next. */
  get next(): number {
    return this.#next;
  }

  /**
   * Adds a record and forgets the oldest until the limits hold. One that is larger than all of the memory leaves nothing.
   *
   * @param answer what follows the text: that many bytes of the beginning of a raw answer
   */
  push(text: string, answer?: Answer, answerBytes = 0): void {
    if (this.limits !== this.#applied) this.#resize(this.limits);
    const textBytes = Buffer.byteLength(text);
    if (!this.#makeRoom(textBytes + answerBytes)) return;
    this.#block.write(text, this.#at, textBytes, "utf8");
    answer?.copyRaw(this.#block, this.#at + textBytes, answerBytes);
    this.#add(textBytes + answerBytes);
  }

  /** A record, until the next one is added; `undefined` when it is forgotten or yet to come. */
  read(number: number): Buffer | undefined {
    if (number < this.#oldest || number >= this.#next) return undefined;
    const slot = number % this.#applied.entries;
    const start = this.#starts[slot]!;
    return this.#block.subarray(start, start + this.#lengths[slot]!);
  }

  /** Forgets everything and says how much that was. */
  clear(): number {
    const { size } = this;
    this.#oldest = this.#next;
    this.#bytes = 0;
    return size;
  }

  /** Forgets the oldest until there is room for a record in one piece. Where the block ends too early, it goes on at its beginning. */
  #makeRoom(length: number): boolean {
    const { entries, memory } = this.#applied;
    if (length > memory) {
      this.#next++;
      this.clear();
      return false;
    }
    while (this.size >= entries) this.#drop();
    if (this.#at + length > memory) {
      this.#dropUntil(Number.POSITIVE_INFINITY);
      this.#at = 0;
    }
    this.#dropUntil(this.#at + length);
    return true;
  }

  /** Forgets the oldest records between where writing goes on and an end. Those before were written later. */
  #dropUntil(end: number): void {
    for (; this.size > 0; this.#drop()) {
      const start = this.#starts[this.#oldest % this.#applied.entries]!;
      if (start < this.#at || start >= end) return;
    }
  }

  #drop(): void {
    this.#bytes -= this.#lengths[this.#oldest++ % this.#applied.entries]!;
  }

  #add(length: number): void {
    const slot = this.#next++ % this.#applied.entries;
    this.#starts[slot] = this.#at;
    this.#lengths[slot] = length;
    this.#at += length;
    this.#bytes += length;
  }

  #resize(limits: RingLimits): void {
    const records: Buffer[] = [];
    for (let number = this.#oldest; number < this.#next; number++) records.push(this.read(number)!);
    this.#applied = limits;
    // Not zeroed, so that the system hands out its pages only as they are written.
    this.#block = Buffer.allocUnsafeSlow(limits.memory);
    this.#starts = new Uint32Array(limits.entries);
    this.#lengths = new Uint32Array(limits.entries);
    this.#next = this.#oldest;
    this.#at = 0;
    this.#bytes = 0;
    for (const record of records) {
      if (!this.#makeRoom(record.length)) continue;
      record.copy(this.#block, this.#at);
      this.#add(record.length);
    }
  }
}
