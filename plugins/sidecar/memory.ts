import { GatewayError } from "propylon";
import { setTimer, writeJson } from "propylon/kit";
import type { StreamEvent } from "propylon/contract";
import { MESSAGE_ID } from "./message/headers.ts";
import type { Settings } from "./settings.ts";
import type {
  Delivery,
  LedgerEntry,
  NewEntry,
  Parcel,
  Transport,
  TransportStatus,
} from "./message/transport.ts";

/** How much is kept of tasks that wait and of results, each: so many, of so many bytes together. */
const MOST = 10_000;
const MOST_BYTES = 256 * 1_024 * 1_024;

/** Time that no clock's correction moves, in milliseconds: a task must not wait for an hour because of one. */
const now = (): number => performance.now();

/** A task that is in the queue. */
interface Item extends Parcel {
  readonly agent: string;
  readonly sequence: number;
  readonly storedAt: number;
  attempt: number;
  /** When it may be delivered, as {@link now} counts; a delivery pushes it `ackWait` ahead. */
  dueAt: number;
}

interface Kept extends LedgerEntry {
  /** As {@link now} counts. */
  readonly until: number;
  readonly size: number;
}

/** The queue of one process: the same words as JetStream's, and gone with the process. */
export class MemoryTransport implements Transport {
  readonly status: TransportStatus = { kind: "memory", isConnected: true };
  readonly limit = Number.POSITIVE_INFINITY;
  readonly #items = new Map<number, Item>();
  /** Of the tasks that are in the queue. */
  readonly #keys = new Set<string>();
  #waitingBytes = 0;
  #ledgerBytes = 0;
  readonly #ledger = new Map<string, Kept>();
  readonly #watchers = new Map<string, Set<(event: StreamEvent | undefined) => void>>();
  readonly #waiting = new Set<() => void>();
  #settings: Settings;
  #sequence = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Settings for what comes from now on. */
  configure(settings: Settings): void {
    this.#settings = settings;
  }

  onStatus(): void {}
  open(): void {}

  async pull(signal: AbortSignal): Promise<Delivery | undefined> {
    while (!signal.aborted) {
      const item = this.#next();
      if (item) return this.#deliver(item);
      await this.#whenDue(signal);
    }
    return undefined;
  }

  find(id: string): Promise<LedgerEntry | undefined> {
    const entry = this.#ledger.get(id);
    if (entry && entry.until > now()) return Promise.resolve(entry);
    this.#forget(id);
    return Promise.resolve(undefined);
  }

  async record(id: string, { task, headers, replaces }: NewEntry): Promise<void> {
    if (!replaces && (await this.find(id))) return;
    const { [MESSAGE_ID]: message } = headers;
    const size = Buffer.byteLength(writeJson(task));
    const until = now() + this.#settings.retention.results;
    this.#forget(id);
    this.#ledger.set(id, { task, message, sequence: ++this.#sequence, until, size });
    this.#ledgerBytes += size;
    for (const oldest of this.#ledger.keys()) {
      if (this.#ledger.size <= MOST && this.#ledgerBytes <= MOST_BYTES) break;
      if (oldest !== id) this.#forget(oldest);
    }
    this.#announce(id, undefined);
  }

  tell(id: string, event: StreamEvent): void {
    this.#announce(id, event);
  }

  /** Nobody could look at it here: the log line and the failed result tell of it. */
  bury(): Promise<void> {
    return Promise.resolve();
  }

  submit(agent: string, parcel: Parcel): Promise<void> {
    // As with JetStream, the same message handed in twice is one task.
    if (this.#keys.has(parcel.key)) return Promise.resolve();
    const { length } = parcel.data;
    if (this.#items.size >= MOST || this.#waitingBytes + length > MOST_BYTES)
      throw new GatewayError("rate_limited", `The queue holds ${this.#items.size} tasks already.`, {
        hint: "Try again later, or give the sidecar a NATS server.",
      });
    const sequence = ++this.#sequence;
    const storedAt = Date.now();
    this.#items.set(sequence, { ...parcel, agent, sequence, storedAt, attempt: 0, dueAt: 0 });
    this.#keys.add(parcel.key);
    this.#waitingBytes += length;
    this.#wake();
    return Promise.resolve();
  }

  watch(id: string, listener: (event: StreamEvent | undefined) => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers.add(listener));
    return () => {
      watchers.delete(listener);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id);
    };
  }

  lag(): Promise<{ waiting: number; running: number }> {
    const own = [...this.#items.values()].filter(({ agent }) => agent === this.#settings.name);
    const running = own.filter(({ attempt, dueAt }) => attempt > 0 && dueAt > now()).length;
    return Promise.resolve({ waiting: own.length - running, running });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #next(): Item | undefined {
    const time = now();
    for (const item of this.#items.values())
      if (item.agent === this.#settings.name && item.dueAt <= time) return item;
    return undefined;
  }

  #deliver(item: Item): Delivery {
    const attempt = ++item.attempt;
    const hold = (): void => {
      item.dueAt = now() + this.#settings.ackWait;
    };
    // Somebody whose time was over speaks for nobody any more.
    const isOurs = (): boolean => item.attempt === attempt;
    hold();
    return {
      data: item.data,
      headers: item.headers,
      subject: `${this.#settings.subjects.tasks}.${item.agent}`,
      sequence: item.sequence,
      storedAt: item.storedAt,
      attempt,
      keep: () => void (isOurs() && hold()),
      ack: () => {
        this.#remove(item);
        return Promise.resolve();
      },
      giveBack: (delay) => {
        if (!isOurs()) return;
        item.dueAt = now() + delay;
        this.#wake();
      },
    };
  }

  /** Resolves when something may be due, or the signal aborts. */
  #whenDue(signal: AbortSignal): Promise<void> {
    const times = [...this.#items.values()]
      .filter(({ agent }) => agent === this.#settings.name)
      .map(({ dueAt }) => dueAt);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer =
        times.length > 0 ? setTimer(end, Math.max(1, Math.min(...times) - now())) : undefined;
      this.#waiting.add(end);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  #remove({ sequence, key, data }: Item): void {
    if (!this.#items.delete(sequence)) return;
    this.#keys.delete(key);
    this.#waitingBytes -= data.length;
  }

  #forget(id: string): void {
    this.#ledgerBytes -= this.#ledger.get(id)?.size ?? 0;
    this.#ledger.delete(id);
  }

  #wake(): void {
    for (const end of this.#waiting) end();
  }

  #announce(id: string, event: StreamEvent | undefined): void {
    for (const listener of this.#watchers.get(id) ?? []) listener(event);
  }
}
