import type { ChatMessage } from "propylon/plugins/agents";
import { within } from "propylon/kit";
import { Records, type Store } from "propylon/store";
import { z, type ZodType } from "zod";
import { jsonSize } from "../json-size.ts";

/** What an agent and one principal said to each other in one context. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
}

/** How long the end waits for what is being written, in milliseconds. */
const LAST_MS = 2_000;

/** How many are kept, and how long. */
export interface ConversationLimits {
  readonly maxSessions: number;
  /** Room for all of them, as JSON. */
  readonly maxTotalSize: number;
  /** Milliseconds since it was used last. */
  readonly ttl: number;
}

/** A conversation as the store keeps it. */
interface ConversationRecord {
  readonly messages: readonly ChatMessage[];
  readonly usedAt: number;
}

const recordSchema = z.object({
  messages: z
    .array(z.looseObject({ role: z.string(), parts: z.array(z.looseObject({})).max(100_000) }))
    .max(100_000),
  usedAt: z.number(),
}) as unknown as ZodType<ConversationRecord>;

/** After so long without a sign of life another replica may take a conversation over, in milliseconds. */
const LEASE_MS = 6_000;

interface Entry {
  messages: readonly ChatMessage[];
  bytes: number;
  usedAt: number;
  /** Settles when everybody who waits for it or uses it is done. */
  queue: Promise<unknown>;
  users: number;
}

/** The conversations of agents over several tasks. Live through reloads, like the tasks. */
export class Conversations {
  /** The longest unused first. */
  readonly #entries = new Map<string, Entry>();
  readonly #store: Store;
  readonly #records: Records<ConversationRecord>;
  readonly #end = new AbortController();
  #bytes = 0;
  #isLoaded = false;

  /** @param store where they outlive the process, if they do */
  constructor(store: Store) {
    this.#store = store;
    this.#records = new Records(store, "conversations", {
      schema: recordSchema,
      signal: this.#end.signal,
      // The writer has read what is there, and holds the lease: another revision is a replica that lost its own.
      owns: () => !store.shared,
    });
  }

  /** Takes over those of a process before this one. */
  async load(limits: ConversationLimits): Promise<void> {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    const found: [string, ConversationRecord][] = [];
    for await (const { key, value } of this.#records.load()) found.push([key, value]);
    for (const [key, { messages, usedAt }] of found.toSorted(
      ([, a], [, b]) => a.usedAt - b.usedAt,
    )) {
      this.#keep(this.#enter(key), messages);
      Object.assign(this.#entries.get(key)!, { usedAt, users: 0 });
    }
    this.sweep(limits);
  }

  async close(): Promise<void> {
    await within(this.#records.settled(), LAST_MS);
    this.#end.abort();
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Continues a conversation, one turn at a time: who comes meanwhile waits. What `turn` returns is what was said by then.
   *
   * @param key says whose conversation it is
   * @throws the signal's reason when it aborts before its turn; whatever `turn` throws, and then nothing was said
   */
  async use(
    key: string,
    limits: ConversationLimits,
    signal: AbortSignal,
    turn: (conversation: Conversation) => Promise<Conversation>,
  ): Promise<void> {
    const entry = this.#enter(key);
    const before = entry.queue;
    let leave!: () => void;
    entry.queue = Promise.all([before, new Promise<void>((resolve) => (leave = resolve))]);
    try {
      await orAborted(before, signal);
      await this.#alone(key, signal, async () => {
        if (this.#store.shared) await this.#refresh(key, entry);
        this.#keep(entry, (await turn({ messages: entry.messages })).messages);
        await this.#save(key, entry);
      });
    } finally {
      leave();
      entry.users--;
      this.#touch(key, entry);
      this.sweep(limits);
    }
  }

  /** No other replica goes on with it meanwhile. */
  async #alone(key: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    if (!this.#store.shared) return work();
    const lease = await this.#store.lease(key, { ttl: LEASE_MS, signal });
    try {
      await work();
    } finally {
      await lease.release();
    }
  }

  /** Another replica may have gone on with it. */
  async #refresh(key: string, entry: Entry): Promise<void> {
    const kv = this.#store.kv("conversations", { schema: recordSchema });
    const there = await kv.get(key);
    this.#records.adopt({ key, rev: there?.rev ?? 0 });
    this.#keep(entry, there?.value.messages ?? []);
  }

  /** What was said is in the store before anybody is told how the turn ended. */
  #save(key: string, entry: Entry): Promise<void> {
    const render = (): ConversationRecord => ({ messages: entry.messages, usedAt: Date.now() });
    return this.#records.save(key, render, { persists: true });
  }

  /** Drops what is kept no longer; those in use stay. */
  sweep({ maxSessions, maxTotalSize, ttl }: ConversationLimits, now = Date.now()): void {
    for (const [key, { usedAt, users, messages, bytes: size }] of this.#entries) {
      const isTooMuch = this.#entries.size > maxSessions || this.#bytes > maxTotalSize;
      if (users > 0 || (!isTooMuch && now - usedAt <= ttl && messages.length > 0)) continue;
      this.#entries.delete(key);
      this.#bytes -= size;
      void this.#records.delete(key);
    }
  }

  #keep(entry: Entry, messages: readonly ChatMessage[]): void {
    const bytes = jsonSize(messages) ?? 0;
    this.#bytes += bytes - entry.bytes;
    Object.assign(entry, { messages, bytes });
  }

  #enter(key: string): Entry {
    const entry = this.#entries.get(key) ?? {
      messages: [],
      bytes: 0,
      usedAt: 0,
      queue: Promise.resolve(),
      users: 0,
    };
    entry.users++;
    this.#touch(key, entry);
    return entry;
  }

  #touch(key: string, entry: Entry): void {
    entry.usedAt = Date.now();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }
}

function orAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    void work.then(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
  });
}
