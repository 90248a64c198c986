import { Arrivals } from "propylon/internal";
import { FairQuota } from "propylon/kit";
import type { JobRef } from "./job-records.ts";

/** A job as far as bounds count it. */
export interface CountedJob extends JobRef {
  /** What is kept of it. */
  readonly bytes: number;
}

interface Held {
  readonly key: string;
  bytes: number;
}

/** Jobs in memory, counted by their owners; those that ended in the order of their ends. */
export class JobMemory<J extends CountedJob> {
  /** By owner: all, those that ended, and the bytes of both. */
  readonly shares = {
    all: new FairQuota(),
    ended: new FairQuota(),
    bytes: new FairQuota(),
    endedBytes: new FairQuota(),
  };
  readonly #all = new Map<string, J>();
  readonly #ended = new Arrivals<J>();
  readonly #held = new Map<J, Held>();
  readonly #keyOf: (job: JobRef) => string;
  #bytes = 0;

  /** @param keyOf where ids are not unique among all owners */
  constructor(keyOf: (job: JobRef) => string = ({ id }) => id) {
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#all.size;
  }

  /** How many have not ended. */
  get live(): number {
    return this.#all.size - this.#ended.size;
  }

  /** Bytes of what was weighed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Those that ended, the oldest first. */
  get ended(): Pick<Arrivals<J>, "size" | "has"> & Iterable<J> {
    return this.#ended;
  }

  /** All, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<J> {
    return this.#all.values();
  }

  get(key: string): J | undefined {
    return this.#all.get(key);
  }

  has(job: J): boolean {
    return this.#held.has(job);
  }

  /** How many of a principal have not ended, and their bytes. */
  liveOf({ ref }: { readonly ref: string }): { readonly jobs: number; readonly bytes: number } {
    const { all, ended, bytes, endedBytes } = this.shares;
    return { jobs: all.of(ref) - ended.of(ref), bytes: bytes.of(ref) - endedBytes.of(ref) };
  }

  add(job: J): void {
    const key = this.#keyOf(job);
    const before = this.#all.get(key);
    if (before === job) return;
    if (before) this.drop(before);
    this.#all.set(key, job);
    this.#held.set(job, { key, bytes: 0 });
    this.shares.all.add(job.owner.ref);
  }

  /** Counts what is kept of one now. */
  weigh(job: J): void {
    const held = this.#held.get(job);
    if (held) this.#count(job, held, job.bytes);
  }

  /** One ended, or ended once more and differently. */
  end(job: J): void {
    const held = this.#held.get(job);
    if (!held) return;
    this.#unend(job, held);
    this.#ended.add(job);
    this.shares.ended.add(job.owner.ref);
    this.shares.endedBytes.add(job.owner.ref, held.bytes);
    this.#count(job, held, job.bytes);
  }

  /** @returns whether it was there */
  drop(job: J): boolean {
    const held = this.#held.get(job);
    if (!held) return false;
    this.#count(job, held, 0);
    this.#unend(job, held);
    this.#held.delete(job);
    this.#all.delete(held.key);
    this.shares.all.remove(job.owner.ref);
    return true;
  }

  /**
   * The job that ended first among those of the owner with the most, so that one owner's flood does not push out the results of others.
   * If no job of that owner has ended: the one that ended first of all.
   */
  surplus(share: FairQuota, newcomer = ""): J | undefined {
    const isLargest = share.largestWith(newcomer);
    let oldest: J | undefined;
    for (const job of this.#ended) {
      if (isLargest(job.owner.ref)) return job;
      oldest ??= job;
    }
    return oldest;
  }

  clear(): void {
    for (const job of this.#all.values()) this.drop(job);
  }

  #unend(job: J, { bytes }: Held): void {
    if (!this.#ended.delete(job)) return;
    this.shares.ended.remove(job.owner.ref);
    this.shares.endedBytes.remove(job.owner.ref, bytes);
  }

  #count(job: J, held: Held, bytes: number): void {
    const more = bytes - held.bytes;
    if (more === 0) return;
    held.bytes = bytes;
    this.#bytes += more;
    this.shares.bytes.add(job.owner.ref, more);
    if (this.#ended.has(job)) this.shares.endedBytes.add(job.owner.ref, more);
  }
}
