import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type Answer, type PluginContext, isGatewayError } from "propylon";
import { Recent, setTimer, within } from "propylon/kit";
import type { Log, Store } from "propylon/store";
import { idOf } from "./entry.ts";
import { Ring } from "./ring.ts";
import { SharedCalls } from "./shared-calls.ts";

/** How long a record waits to be written, in milliseconds, unless a batch is full before. */
const BATCH_MS = 100;
/** Records that are written, or read, at once: in a turn of the loop, for a store that works in this process. */
const BATCH = 100;
/** How long the last batches may take when everything ends, in milliseconds. */
const CLOSE_MS = 1_000;
/** Ids by which a record is known that was written twice: the answer to the first time did not come. */
const MAX_SEEN = 2_000;

/** What a {@link CallJournal} is made of. */
export interface CallJournalOptions {
  readonly ring: Ring;
  readonly store: Store;
  readonly log: PluginContext["log"];
}

/** How far the log was read. */
interface Reading {
  after: number;
  unreadable: number;
  readonly seen: Recent<true>;
}

/**
 * The records of a ring in a store that outlives the process. The ring is also the queue: what makes room there before it was written
 * is dropped, so a store that is slow or away costs neither a call nor memory.
 */
export class CallJournal {
  /** Records that will not be there after a restart. */
  dropped = 0;
  readonly #options: CallJournalOptions;
  #log: Log<string>;
  #maxEntries: number;
  /**
   * What is to be written: the ring, or one beside it until those of earlier processes are in the ring, which come first there. To
   * read those takes longer than a record may wait for the store.
   */
  #queue: Ring;
  /** The calls of all replicas, where several share the store: what is in the ring is then to be written, and shown without the store. */
  readonly #shared: SharedCalls | undefined;
  #filling: Promise<void> | undefined;
  /** Number in the queue of the last record that is written. */
  #written = 0;
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the store did not take the last batch: it is not asked with every call. */
  #isRefused = false;

  constructor(options: CallJournalOptions) {
    const { store, ring } = options;
    this.#options = options;
    this.#maxEntries = ring.limits.entries;
    this.#log = store.log("calls", { maxEntries: this.#maxEntries });
    if (store.shared) this.#shared = new SharedCalls(store, ring.limits);
    this.#queue = store.shared ? ring : new Ring(ring.limits);
  }

  /** Whether what is shown is that of all replicas, and pages are named by calls. */
  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  /** What is to be shown: the calls of all replicas, or while the store is away those of this one. */
  async shown(): Promise<Ring> {
    const { ring } = this.#options;
    if (!this.#shared) await this.fill();
    else if (await this.#catchUp(this.#shared)) return this.#shared.ring;
    return ring;
  }

  async #catchUp(shared: SharedCalls): Promise<boolean> {
    const { ring } = this.#options;
    try {
      await this.#writeAll();
      if (this.#isRefused) return false;
      await shared.catchUp(this.#log, ring.limits, () => this.#clearRing());
      return true;
    } catch {
      return false;
    }
  }

  /** Adds a record, as `Ring.push`. */
  push(text: string, answer?: Answer, answerBytes = 0): void {
    const queue = this.#queue;
    queue.push(text, answer, answerBytes);
    if (this.#isRefused) return;
    if (queue.next - this.#written > BATCH) void this.#write();
    else this.#writeSoon();
  }

  /** Reads what earlier processes wrote, once, a little at a time. */
  fill(): Promise<void> {
    if (this.#shared) return this.#catchUp(this.#shared).then(() => {});
    return (this.#filling ??= this.#fill());
  }

  /**
   * Forgets everything and says how much that was.
   *
   * @throws {GatewayError} `unavailable`; then nothing is forgotten
   */
  async clear(): Promise<number> {
    await this.fill();
    await this.#writing;
    await this.#log.clear();
    const all = await this.#shared?.forget(randomUUID());
    const own = this.#clearRing();
    return all ?? own;
  }

  #clearRing(): number {
    const { ring } = this.#options;
    this.#written = ring.next - 1;
    return ring.clear();
  }

  /** Writes what waits, if the store takes it. */
  async close(): Promise<void> {
    const written = this.#write()
      .then(() => this.#filling)
      .then(() => this.#writeAll());
    await within(written, CLOSE_MS);
    clearTimeout(this.#timer);
  }

  async #fill(): Promise<void> {
    const reading: Reading = { after: 0, unreadable: 0, seen: new Recent(MAX_SEEN) };
    let fault: unknown;
    try {
      await this.#readAll(reading);
    } catch (error) {
      fault = error;
    }
    while (this.#writing) await this.#writing;
    // Nothing is written meanwhile.
    this.#writing = this.#join(reading, fault).finally(() => (this.#writing = undefined));
    await this.#writing;
  }

  /** What came during the reading follows in the ring: from the log what is written, from its queue the rest. */
  async #join(reading: Reading, fault: unknown): Promise<void> {
    const { ring, log } = this.#options;
    const queue = this.#queue;
    try {
      if (fault) throw fault;
      await this.#readAll(reading);
    } catch (error) {
      log.warn({ err: error }, "the previous history is shown after the next start");
      await copyRecords(queue, ring, queue.oldest, this.#written);
    }
    if (reading.unreadable > 0)
      log.warn({ count: reading.unreadable }, "records of the history cannot be read");
    const first = this.#written + 1;
    this.#written = ring.next - 1;
    this.dropped += await copyRecords(queue, ring, first);
    this.#queue = ring;
    if (this.#written < ring.next - 1) this.#writeSoon();
  }

  async #readAll(reading: Reading): Promise<void> {
    const { ring } = this.#options;
    const { seen } = reading;
    for (;;) {
      const entries = await this.#log.read({ after: reading.after, limit: BATCH });
      for (const { value } of entries) {
        const id = idOf(value);
        if (id === undefined) reading.unreadable++;
        else if (!seen.get(id)) ring.push(value);
        if (id !== undefined) seen.set(id, true);
      }
      if (entries.length === 0) return;
      reading.after = entries.at(-1)!.seq;
      // Calls come first.
      await setImmediate();
    }
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeOut().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** All that came until now, unless the store does not take it: under load there is always more. */
  async #writeAll(): Promise<void> {
    const last = this.#queue.next - 1;
    do await this.#write();
    while (this.#written < last && !this.#isRefused);
  }

  /** One batch, and more of what came until now while they are full: a record alone costs the store as much as twenty. */
  async #writeOut(): Promise<void> {
    const queue = this.#queue;
    const end = queue.next;
    this.#useLimits();
    for (let isFull = true; isFull;) {
      const first = Math.max(this.#written + 1, queue.oldest);
      if (first > this.#written + 1) this.dropped += first - this.#written - 1;
      const last = Math.min(first + BATCH, queue.next) - 1;
      const records: string[] = [];
      for (let number = first; number <= last; number++)
        records.push(queue.read(number)!.toString("utf8"));
      if (!(await this.#append(records))) {
        this.#written = first - 1;
        this.#isRefused = true;
        break;
      }
      this.#written = last;
      this.#isRefused = false;
      isFull = end - last > BATCH;
      // Calls come first.
      if (isFull) await setImmediate();
    }
    if (this.#written < queue.next - 1) this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimer(() => void this.#write(), BATCH_MS).unref();
  }

  /** @returns whether it is done: written, or never to be */
  async #append(records: readonly string[]): Promise<boolean> {
    if (records.length === 0) return true;
    try {
      await this.#log.append(...records);
      return true;
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "too_large") return false;
    }
    if (records.length === 1) {
      this.dropped++;
      return true;
    }
    const middle = Math.ceil(records.length / 2);
    return (
      (await this.#append(records.slice(0, middle))) && (await this.#append(records.slice(middle)))
    );
  }

  #useLimits(): void {
    const { ring, store } = this.#options;
    if (ring.limits.entries === this.#maxEntries) return;
    this.#maxEntries = ring.limits.entries;
    this.#log = store.log("calls", { maxEntries: this.#maxEntries });
  }
}

/**
 * Adds records of one ring to another, a few in each turn of the loop, and then what came to the first meanwhile.
 *
 * @returns how many of them the first has forgotten
 */
async function copyRecords(from: Ring, to: Ring, first: number, last = Infinity): Promise<number> {
  const start = Math.max(first, from.oldest);
  let forgotten = start - first;
  for (let number = start; number <= last && number < from.next; number++) {
    const record = from.read(number);
    if (record) to.push(record.toString("utf8"));
    else forgotten++;
    if (number % BATCH === 0) await setImmediate();
  }
  return forgotten;
}
