import type { StreamEvent, Task } from "propylon/contract";
import type { Delivery, LinkStatus } from "propylon/plugins/nats";

export type { Delivery } from "propylon/plugins/nats";

/** Headers of a message, by the name they came under. */
export type Headers = Readonly<Record<string, string>>;

/** A result as the ledger has it. */
export interface LedgerEntry {
  readonly task: Task;
  /** The message that was answered, by the token of its id. */
  readonly message: string | undefined;
  /** Place in the ledger. */
  readonly sequence: number;
}

/** A result on its way into the ledger. */
export interface NewEntry {
  readonly task: Task;
  /** `Nats-Msg-Id`: the same for every execution of one message. */
  readonly key: string;
  readonly headers: Headers;
  /** An entry that it replaces: the task waited for somebody, and went on. */
  readonly replaces: LedgerEntry | undefined;
}

/** Something to store as it came. */
export interface Parcel {
  readonly data: Uint8Array;
  readonly headers: Headers;
  /** `Nats-Msg-Id`: the same again within a short time is stored once. */
  readonly key: string;
}

/** How the queue is. */
export interface TransportStatus extends LinkStatus {
  readonly kind: "jetstream" | "memory";
}

/**
 * A durable queue, a ledger of results, and a place for what was given up. Both kinds mean the same by it: a task is delivered
 * until it is acked; a delivery that nobody keeps for `ackWait` is over; the first result of a task stays.
 */
export interface Transport {
  readonly status: TransportStatus;
  /** Largest message in bytes, headers included; `Infinity` = no limit known. */
  readonly limit: number;
  /** Calls back when {@link status} changes. */
  onStatus(listener: () => void): void;
  /** Begins to connect, and goes on until it is closed. Resolves at once. */
  open(): void;
  /** Waits for one task. Resolves with `undefined` when there was none for a while, or the signal aborts. */
  pull(signal: AbortSignal): Promise<Delivery | undefined>;
  /** @throws when the queue cannot be reached */
  find(id: string): Promise<LedgerEntry | undefined>;
  /**
   * Puts a result into the ledger, unless there is one already: the first stays.
   * @throws {GatewayError} `too_large` when it never will be stored
   * @throws when the queue cannot be reached, or refuses it for now; may be called again
   */
  record(id: string, entry: NewEntry): Promise<void>;
  /** Tells of an event. Best effort, never throws. */
  tell(id: string, event: StreamEvent, headers: Headers): void;
  /**
   * @throws {GatewayError} `too_large` when it never will be stored
   * @throws when the queue cannot be reached, or refuses it for now; may be called again
   */
  bury(parcel: Parcel): Promise<void>;
  /** Stores a task for an agent. @throws when the queue cannot be reached */
  submit(agent: string, parcel: Parcel): Promise<void>;
  /** Calls back with what is told of a task from now on; and when its result was stored, with nothing. */
  watch(id: string, listener: (event: StreamEvent | undefined) => void): () => void;
  /** Tasks that wait and those that are with a worker. @throws when the queue cannot be reached */
  lag(): Promise<{ readonly waiting: number; readonly running: number }>;
  /** What it still has to say is said first. Never rejects. */
  close(): Promise<void>;
}
