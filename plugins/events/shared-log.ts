import { randomBytes } from "node:crypto";
import { boundedRecord, FIRST_PROBLEM, pause, Recent, within } from "propylon/kit";
import type { Log, LogEntry, Store, Unsubscribe } from "propylon/store";
import { PERSON_ROLES } from "propylon/internal";
import { z } from "zod";

/** Events that wait for the store at most; the oldest go first, and their numbers are missed. */
const MAX_QUEUED = 1_000;
/** Events of one write at most. */
const MAX_BATCH = 100;
/** Before a write is tried again, in milliseconds. */
const RETRY_MS = 500;
/** What a replica that ends has to write what it still knows, in milliseconds. */
const LAST_WORDS_MS = 2_000;
/** A store keeps no fewer, so that replicas that are a moment behind miss nothing. */
const MIN_ENTRIES = 100;
/** Events that are remembered because every replica tells them on its own. */
const MAX_ONCE = 4_000;
/** Replicas whose numbers are remembered: those that are there, and some earlier ones. */
const MAX_REPLICAS = 2_000;

const entrySchema = z.object({
  // It becomes a line of a server-sent event.
  kind: z.string().regex(/^[a-z][a-z0-9_]{0,60}$/),
  data: boundedRecord(z.string(), z.unknown(), 10_000),
  access: z.enum(PERSON_ROLES).exactOptional(),
  owner: z.string().exactOptional(),
  once: z.string().max(1_000).exactOptional(),
  replica: z.string().max(100),
  /** Counts the events of a replica: one that was written twice is told once, and one that is missing is noticed. */
  number: z.int().min(1),
});

type StoredEvent = z.output<typeof entrySchema>;

/** An event for all replicas of the store. */
export type SharedEvent = Omit<StoredEvent, "replica" | "number">;

/** What happens to the events of all replicas. */
export interface SharedLogListener {
  /** @param seq its place, the same at every replica */
  tell(event: SharedEvent, seq: number): void;
  /** Events are missing before a place. @param missed how many; `null`: nobody knows */
  lose(seq: number, missed: number | null): void;
}

/** The events of all replicas of a store, in one order: each writes its own, and tells its readers what it reads. */
export class SharedLog {
  readonly #store: Store;
  readonly #listener: SharedLogListener;
  /** The last number of each replica. */
  readonly #numbers = new Recent<number>(MAX_REPLICAS);
  /** Those of late that every replica tells on its own. */
  readonly #once = new Recent<true>(MAX_ONCE);
  readonly #ended = new AbortController();
  #log: Log<unknown> | undefined;
  #queue: StoredEvent[] = [];
  #count = 0;
  #writing: Promise<void> | undefined;
  #isRead = false;
  #stop: Unsubscribe | undefined;
  #epoch = "";

  constructor(store: Store, listener: SharedLogListener) {
    this.#store = store;
    this.#listener = listener;
  }

  /** Tells this log from one that an emptied store begins. */
  get epoch(): string {
    return this.#epoch;
  }

  /**
   * Reads what there is, and everything from now on; safe to call again with other bounds.
   *
   * @throws {GatewayError} `unavailable`
   */
  async open(maxEvents: number): Promise<void> {
    this.#log = this.#store.log("events", { maxEntries: Math.max(maxEvents, MIN_ENTRIES) });
    this.#writeSoon();
    if (this.#stop) return;
    const epochs = this.#store.kv<string>("epoch", { schema: z.string().regex(/^\w{1,40}$/) });
    await epochs.create("events", randomBytes(6).toString("hex"));
    this.#epoch = (await epochs.get("events"))?.value ?? "unknown";
    this.#stop = await this.#log.follow(0, (entry) => this.#read(entry));
    this.#isRead = true;
  }

  /** Writes an event, as soon as the store takes it. */
  add(event: SharedEvent): void {
    const { replica } = this.#store;
    if (this.#queue.length >= MAX_QUEUED) this.#queue.shift();
    this.#queue.push({ ...event, replica, number: ++this.#count });
    this.#writeSoon();
  }

  /** Whether an event was written at a place. @throws {GatewayError} `unavailable` */
  async has(seq: number): Promise<boolean> {
    const [entry] = await this.#log!.read({ after: seq - 1, limit: 1 });
    return entry?.seq === seq;
  }

  async close(): Promise<void> {
    if (this.#writing) await within(this.#writing, LAST_WORDS_MS);
    this.#ended.abort();
    await this.#stop?.();
  }

  #writeSoon(): void {
    if (this.#log && this.#queue.length > 0) this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    while (this.#queue.length > 0 && !this.#ended.signal.aborted) {
      const batch = this.#queue.slice(0, MAX_BATCH);
      const { number } = batch.at(-1)!;
      try {
        await this.#log!.append(...batch);
        this.#queue = this.#queue.filter((event) => event.number > number);
      } catch {
        // It may have been written: a reader who gets it twice sees that by its number.
        await pause(RETRY_MS, this.#ended.signal).catch(() => {});
      }
    }
    this.#writing = undefined;
  }

  #read({ value, seq }: LogEntry<unknown>): void {
    const { data: entry } = entrySchema.safeParse(value, FIRST_PROBLEM);
    if (!entry) return;
    const { replica, number, ...event } = entry;
    const before = this.#numbers.get(replica);
    if (before !== undefined && number <= before) return;
    this.#numbers.set(replica, number);
    // While the log is read for the first time, what came before the first of a replica was dropped for its age.
    const expected = before ?? (this.#isRead ? 0 : number - 1);
    if (number > expected + 1) this.#listener.lose(seq, number - expected - 1);
    if (!this.#isToldAlready(event)) this.#listener.tell(event, seq);
  }

  /** Every replica reads the same log, so all of them tell the same one of several. */
  #isToldAlready({ kind, once }: SharedEvent): boolean {
    if (once === undefined) return false;
    const key = `${kind} ${once}`;
    if (this.#once.get(key)) return true;
    this.#once.set(key, true);
    return false;
  }
}
