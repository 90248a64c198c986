import type { ChatMessage } from "propylon/plugins/agents";
import { jsonSize } from "./size.ts";

/** What an agent and one principal said to each other in one context. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
}

/** How many are kept, and how long. */
export interface ConversationLimits {
  readonly maxSessions: number;
  /** Room for all of them, as JSON. */
  readonly maxTotalSize: number;
  /** Milliseconds since it was used last. */
  readonly ttl: number;
}

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
  #bytes = 0;

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
      this.#keep(entry, (await turn({ messages: entry.messages })).messages);
    } finally {
      leave();
      entry.users--;
      this.#touch(key, entry);
      this.sweep(limits);
    }
  }

  /** Drops what is kept no longer; those in use stay. */
  sweep({ maxSessions, maxTotalSize, ttl }: ConversationLimits, now = Date.now()): void {
    for (const [key, { usedAt, users, messages, bytes: size }] of this.#entries) {
      const isTooMuch = this.#entries.size > maxSessions || this.#bytes > maxTotalSize;
      if (users > 0 || (!isTooMuch && now - usedAt <= ttl && messages.length > 0)) continue;
      this.#entries.delete(key);
      this.#bytes -= size;
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
