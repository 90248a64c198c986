import { GatewayError } from "propylon";
import type { StreamEvent } from "propylon/contract";
import { MESSAGE_ID, OWNER } from "./headers.ts";
import type { Settings } from "./settings.ts";
import type {
  Delivery,
  LedgerEntry,
  NewEntry,
  Parcel,
  Transport,
  TransportStatus,
} from "./transport.ts";

/** How much is kept of tasks that wait and of results, each. */
const MOST = 10_000;

/** A task that is in the queue. */
interface Item extends Parcel {
  readonly agent: string;
  readonly sequence: number;
  readonly storedAt: number;
  attempt: number;
  /** When it may be delivered, in milliseconds since 1970; a delivery pushes it `ackWait` ahead. */
  dueAt: number;
}

interface Kept extends LedgerEntry {
  readonly until: number;
}

/** The queue of one process: the same words as JetStream's, and gone with the process. */
export class MemoryTransport implements Transport {
  readonly status: TransportStatus = { kind: "memory", isConnected: true };
  readonly limit = Number.POSITIVE_INFINITY;
  readonly #items = new Map<number, Item>();
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
    if (entry && entry.until > Date.now()) return Promise.resolve(entry);
    this.#ledger.delete(id);
    return Promise.resolve(undefined);
  }

  async record(id: string, { task, headers, replaces }: NewEntry): Promise<void> {
    if (!replaces && (await this.find(id))) return;
    const { [MESSAGE_ID]: messageId, [OWNER]: owner } = headers;
    const until = Date.now() + this.#settings.keep.results;
    this.#ledger.delete(id);
    this.#ledger.set(id, { task, messageId, owner, sequence: ++this.#sequence, until });
    for (const oldest of this.#ledger.keys()) {
      if (this.#ledger.size <= MOST) break;
      this.#ledger.delete(oldest);
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
    if (this.#items.size >= MOST)
      throw new GatewayError("rate_limited", `The queue holds ${MOST} tasks already.`, {
        hint: "Try again later, or give the sidecar a NATS server.",
      });
    // As with JetStream, the same message handed in twice is one task.
    if ([...this.#items.values()].some(({ key }) => key === parcel.key)) return Promise.resolve();
    const sequence = ++this.#sequence;
    const now = Date.now();
    this.#items.set(sequence, { ...parcel, agent, sequence, storedAt: now, attempt: 0, dueAt: 0 });
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
    const running = own.filter(({ attempt, dueAt }) => attempt > 0 && dueAt > Date.now()).length;
    return Promise.resolve({ waiting: own.length - running, running });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #next(): Item | undefined {
    const now = Date.now();
    for (const item of this.#items.values())
      if (item.agent === this.#settings.name && item.dueAt <= now) return item;
    return undefined;
  }

  #deliver(item: Item): Delivery {
    const attempt = ++item.attempt;
    const hold = (): void => {
      item.dueAt = Date.now() + this.#settings.ackWait;
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
        this.#items.delete(item.sequence);
        return Promise.resolve();
      },
      giveBack: (delay) => {
        if (!isOurs()) return;
        item.dueAt = Date.now() + delay;
        this.#wake();
      },
    };
  }

  /** Resolves when something may be due, or the signal aborts. */
  #whenDue(signal: AbortSignal): Promise<void> {
    const now = Date.now();
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
        times.length > 0 ? setTimeout(end, Math.max(1, Math.min(...times) - now)) : undefined;
      this.#waiting.add(end);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  #wake(): void {
    for (const end of this.#waiting) end();
  }

  #announce(id: string, event: StreamEvent | undefined): void {
    for (const listener of this.#watchers.get(id) ?? []) listener(event);
  }
}
