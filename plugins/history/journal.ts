import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type Answer, type PluginContext, isGatewayError } from "propylon";
import { Recent, setTimer, within } from "propylon/kit";
import type { Log, Store } from "propylon/store";
import { idOf } from "./entry.ts";
import { SharedCalls } from "./shared-calls.ts";
import type { Ring } from "./ring.ts";

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
  /** Records that came before those of earlier processes were read. */
  #early: Buffer[] | undefined = [];
  /** The calls of all replicas, where several share the store: what is in the ring is then to be written, and shown without the store. */
  readonly #shared: SharedCalls | undefined;
  #earlyBytes = 0;
  #filling: Promise<void> | undefined;
  /** Number of the last record that is written. */
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
    if (!store.shared) return;
    this.#shared = new SharedCalls(store, ring.limits);
    this.#early = undefined;
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
    if (this.#early) return this.#keep(toBuffer(text, answer, answerBytes));
    const { ring } = this.#options;
    ring.push(text, answer, answerBytes);
    if (this.#isRefused) return;
    if (ring.next - this.#written > BATCH) void this.#write();
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
    await within(
      this.fill().then(() => this.#writeAll()),
      CLOSE_MS,
    );
    clearTimeout(this.#timer);
  }

  async #fill(): Promise<void> {
    const { ring, log } = this.#options;
    try {
      await this.#readAll();
    } catch (error) {
      log.warn({ err: error }, "the history of before is shown after the next start");
    }
    this.#written = ring.next - 1;
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const record of early) this.push(record.toString("utf8"));
  }

  async #readAll(): Promise<void> {
    const { ring, log } = this.#options;
    const seen = new Recent<true>(MAX_SEEN);
    let unreadable = 0;
    for (let after = 0; ;) {
      const entries = await this.#log.read({ after, limit: BATCH });
      for (const { value } of entries) {
        const id = idOf(value);
        if (id === undefined) unreadable++;
        else if (!seen.get(id)) ring.push(value);
        if (id !== undefined) seen.set(id, true);
      }
      if (entries.length === 0) break;
      after = entries.at(-1)!.seq;
      // Calls come first.
      await setImmediate();
    }
    if (unreadable > 0) log.warn({ count: unreadable }, "records of the history cannot be read");
  }

  #keep(record: Buffer): void {
    const { limits } = this.#options.ring;
    this.#early!.push(record);
    this.#earlyBytes += record.length;
    while (this.#early!.length > limits.entries || this.#earlyBytes > limits.memory) {
      this.#earlyBytes -= this.#early!.shift()!.length;
      this.dropped++;
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
    const last = this.#options.ring.next - 1;
    do await this.#write();
    while (this.#written < last && !this.#isRefused);
  }

  /** One batch, and more of what came until now while they are full: a record alone costs the store as much as twenty. */
  async #writeOut(): Promise<void> {
    const { ring } = this.#options;
    const end = ring.next;
    this.#useLimits();
    for (let isFull = true; isFull;) {
      const first = Math.max(this.#written + 1, ring.oldest);
      if (first > this.#written + 1) this.dropped += first - this.#written - 1;
      const last = Math.min(first + BATCH, ring.next) - 1;
      const records: string[] = [];
      for (let number = first; number <= last; number++)
        records.push(ring.read(number)!.toString("utf8"));
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
    if (this.#written < ring.next - 1) this.#writeSoon();
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

function toBuffer(text: string, answer: Answer | undefined, answerBytes: number): Buffer {
  const textBytes = Buffer.byteLength(text);
  const record = Buffer.alloc(textBytes + answerBytes);
  record.write(text, "utf8");
  answer?.copyRaw(record, textBytes, answerBytes);
  return record;
}
