import type { Dialect } from "kysely";
import type { Logger } from "pino";

/**
 * A value as a driver keeps it.
 *
 * @example const stored: StoredValue = { value: "{}", rev: 17 };
 */
export interface StoredValue {
  readonly value: string;
  /** Of its last write. Higher than that of any write before it, under whatever key. */
  readonly rev: number;
}

/**
 * A value with its key.
 *
 * @example const keys = entries.map(({ key }: StoredEntry) => key);
 */
export interface StoredEntry extends StoredValue {
  readonly key: string;
}

/**
 * How a driver writes a value.
 *
 * @example const onlyIfNew: PutOptions = { rev: 0, until: Date.now() + 60_000 };
 */
export interface PutOptions {
  /** Writes only over this revision; 0: only where nothing is. Default: over whatever is there. */
  readonly rev?: number | undefined;
  /** When it ends, in milliseconds since 1970; from then on nothing is there. Default: never. */
  readonly until?: number | undefined;
}

/**
 * A part of a bucket.
 *
 * @example const next: ListOptions = { prefix: "task/", after: last.key, limit: 100 };
 */
export interface ListOptions {
  /** How its keys begin. */
  readonly prefix: string;
  /** Only keys behind this one. Default: from the first. */
  readonly after?: string | undefined;
  /** At most so many. */
  readonly limit: number;
}

/**
 * An entry of a log as a driver keeps it.
 *
 * @example const last = entries.at(-1)?.seq ?? 0;
 */
export interface LoggedValue {
  readonly value: string;
  /** Its place: higher than that of every entry before it, with gaps where entries were never written. */
  readonly seq: number;
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * How much of a log stays.
 *
 * @example const retention: LogRetention = { maxEntries: 10_000, before: Date.now() - 86_400_000 };
 */
export interface LogRetention {
  /** The newest so many. */
  readonly maxEntries: number;
  /** Only those written at or after this moment, in milliseconds since 1970. Default: of any age. */
  readonly before?: number | undefined;
}

/**
 * A piece of work in a queue.
 *
 * @example const item: QueuedItem = { key: ticket, group: digestOf(principal.ref), size: 512 };
 */
export interface QueuedItem {
  /** Its own, printable ASCII without spaces, at most 64 characters. The same key again within two minutes is added once. */
  readonly key: string;
  /** Whose it is, in the same form. */
  readonly group: string;
  /** What it takes, in whatever unit its owner counts. */
  readonly size: number;
}

/**
 * A piece of work that was handed to this gateway. Unless it is {@link QueueDelivery.keep kept}, another replica gets it after 6
 * seconds: this gateway may have died.
 *
 * @example await delivery.ack();
 */
export interface QueueDelivery {
  readonly text: string;
  /** Says that somebody is still at it, which is to be done every 2 seconds. Best effort, never throws. */
  keep(): void;
  /** Done: it is never delivered again. @throws when the queue cannot be reached; may be called again */
  ack(): Promise<void>;
  /**
   * Gives it back, to be delivered again after so many milliseconds: whole ones, for the store's queue rounds them up. Best effort.
   *
   * @throws {GatewayError} `invalid` for what cannot be a delay
   */
  giveBack(delay: number): void;
}

/**
 * Work that waits until a replica does it: each piece is delivered to one replica at a time, until one acks it. What was begun first
 * is delivered first.
 *
 * @example
 * const queue: WorkQueue = store.queue("reports");
 * await queue.add({ key: id, group: digestOf(principal.ref), size: 1 }, JSON.stringify({ id }));
 */
export interface WorkQueue {
  /** Resolves when it is stored. */
  add(item: QueuedItem, text: string): Promise<void>;
  /** Waits for a piece of work. Resolves with `undefined` when there was none for a while, or the signal aborts. */
  next(signal: AbortSignal): Promise<QueueDelivery | undefined>;
  /** All that was added and not acked, in no order. */
  items(): Promise<readonly QueuedItem[]>;
}

/**
 * Ends a subscription; safe to call twice.
 *
 * @example
 * const stop: Unsubscribe = await notes.watch("", show);
 * gateway.onDispose(stop);
 */
export type Unsubscribe = () => void | Promise<void>;

/**
 * What keeps the state of a gateway: texts under keys, logs of texts, and messages between the replicas that use it. Everything
 * else that plugins get (the service `Store`) is made of this, once for all drivers. Every driver passes `testStore` of
 * `propylon/testing`.
 *
 * Names of buckets, logs and topics are ASCII letters, digits and `._-/`, at most 128 characters. Keys are printable ASCII
 * without spaces, at most 512 characters, and listed in the order of their characters. Values are texts of at most 32 MiB.
 *
 * A rejection means that it is not known whether the write happened. Rejections may be anything: the gateway tells clients
 * `unavailable`, and logs the cause.
 *
 * @example const open: OpenStore = async (url) => new FileDriver(url);
 */
export interface StoreDriver {
  /** Whether several replicas can use it at once. */
  readonly shared: boolean;
  /** Whether what is written is there after the process has ended. */
  readonly durable: boolean;
  /** Nothing for a key that ended. */
  get(bucket: string, key: string): Promise<StoredValue | undefined>;
  /** @returns the new revision; `undefined` when another revision is there than asked for, and nothing was written */
  put(
    bucket: string,
    key: string,
    value: string,
    options?: PutOptions,
  ): Promise<number | undefined>;
  /**
   * @param rev deletes only this revision
   * @returns whether something was deleted
   */
  delete(bucket: string, key: string, rev?: number): Promise<boolean>;
  /** Entries in the order of their keys. */
  list(bucket: string, options: ListOptions): Promise<StoredEntry[]>;
  /**
   * Tells of every write and deletion in a bucket from now on, by whichever replica. Several changes of one key may be told as one; a
   * change is never told before it can be read.
   *
   * @param changed gets the key; `undefined` when anything may have changed, e.g. after the connection was lost
   */
  watch(bucket: string, changed: (key: string | undefined) => void): Promise<Unsubscribe>;
  /**
   * Adds entries to a log, all or none. A reader that is at one of them has seen all before it.
   * @returns the place of the last
   */
  append(log: string, values: readonly string[]): Promise<number>;
  /** Entries behind a place, oldest first. */
  read(log: string, after: number, limit: number): Promise<LoggedValue[]>;
  /** Drops what is not to stay. */
  trim(log: string, retention: LogRetention): Promise<void>;
  /** Tells that a log has new entries, by whichever replica. */
  follow(log: string, appended: () => void): Promise<Unsubscribe>;
  /** Sends a message to every subscriber there is now, this gateway's own included: at most once, in order. At most 8 KB. */
  publish(topic: string, message: string): Promise<void>;
  subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe>;
  /** Work that waits for a replica; absent where the store cannot hand any out. */
  queue?(name: string): WorkQueue;
  /** For relational data; absent where it cannot hold any. Asked once. */
  dialect?(): Promise<Dialect>;
  /** Waits for what is under way, and gives everything back. */
  close(): Promise<void>;
}

/**
 * What a driver gets when it is opened.
 *
 * @example const open: OpenStore = (url, { folder }) => FileDriver.open(resolve(folder, url));
 */
export interface StoreHost {
  /** Folder that relative paths start from: that of the config file. */
  readonly folder: string;
  /** Options of the plugin that brings the driver. */
  readonly options: unknown;
  readonly log: Logger;
}

/**
 * Opens a driver by the URL in the config's `store`.
 *
 * @throws {GatewayError} saying what is wrong and what to do: the gateway does not start then
 * @example export default definePlugin({ name: "file-store", stores: { file: { open: (url, host) => FileDriver.open(url, host) } }, setup() {} });
 */
export type OpenStore = (url: string, host: StoreHost) => Promise<StoreDriver>;
