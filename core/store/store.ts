import type { ZodType } from "zod";
import { defineService, type Service } from "../kit/service.ts";
import type { Unsubscribe, WorkQueue } from "./driver.ts";

/**
 * Where a plugin keeps what must outlive its process, and what the replicas of the same store share. Every plugin has names of its own.
 *
 * With `store: memory`, the default, everything works and nothing outlives the process.
 *
 * Everything rejects with `unavailable` (503) while the store is away, unless it says otherwise.
 *
 * @example
 * definePlugin({ name: "notes", inject: { store: Store }, setup });
 *
 * const notes = gateway.services.store.kv<Note>("notes");
 * await notes.put(id, note); // confirmed: it is there after a restart
 */
export interface Store {
  /** This gateway among those that use the store; new with every start. */
  readonly replica: string;
  /** Whether several replicas can use it at once. */
  readonly shared: boolean;
  /** Whether what is written is there after the process has ended. */
  readonly durable: boolean;
  /**
   * Values under keys.
   * @example const notes = store.kv("notes", { schema: noteSchema, ttl: 86_400_000 });
   */
  kv<T>(name: string, options?: KvOptions<T>): Kv<T>;
  /**
   * Messages to every replica of the store, this one included.
   * @example await store.topic<string>("moved").publish(id);
   */
  topic<T>(name: string): Topic<T>;
  /**
   * Entries in order, the newest of which stay.
   * @example const log = store.log<Visit>("visits", { maxEntries: 10_000 });
   */
  log<T>(name: string, options: LogOptions): Log<T>;
  /**
   * A bucket of tokens that all replicas of the store take from; it begins full.
   * @example const { taken } = await store.meter("mail", { burst: 100, interval: 60_000 }).take(5);
   */
  meter(name: string, options: MeterOptions): Meter;
  /**
   * Waits until this gateway is the only one to hold something, however long that takes.
   * @throws the signal's reason
   * @example
   * const lease = await store.lease("reports", { ttl: 10_000, signal });
   * await writeReport({ fence: lease.fence, signal: lease.signal });
   * await lease.release();
   */
  lease(name: string, options: LeaseOptions): Promise<Lease>;
  /**
   * Work that waits until a replica of the store does it. Needs `store: nats://...`.
   * @throws {GatewayError} `invalid` with a store that hands out no work
   * @example const delivery = await store.queue("reports").next(signal);
   */
  queue(name: string): WorkQueue;
  /** The replicas that use the store now, oldest first; one that died is in it for up to 6 seconds. */
  replicas(): Promise<readonly Replica[]>;
  /**
   * Ids of the others that use the store now, oldest first. Empty where only one gateway can use the store.
   * @example for (const replica of await store.others()) void tell(replica);
   */
  others(): Promise<ReadonlySet<string>>;
  /** Whether a replica uses the store now, this one included; one that died does for up to 6 seconds. Any text may be asked about. */
  isThere(replica: string): Promise<boolean>;
  /**
   * Asks one replica of the store, and reads what its {@link answer} yields.
   * @throws {GatewayError} `unavailable` when that replica is gone or does not answer there (`isUnheard`: nothing was carried out); what the answer threw
   * @example for await (const piece of store.ask<Status>(replica, "status", { id }, signal)) show(piece);
   */
  ask<T>(replica: string, topic: string, body: unknown, signal: AbortSignal): AsyncIterable<T>;
  /**
   * Answers what other replicas {@link ask} this one. The signal of a question aborts when who asked stops listening, or is gone.
   * @example const end = await store.answer("status", async function* ({ id }: { id: string }) { yield statusOf(id); });
   */
  answer(
    topic: string,
    handler: (body: never, signal: AbortSignal) => AsyncIterable<unknown>,
  ): Promise<Unsubscribe>;
}

/** The service that every gateway has; see the interface. */
export const Store: Service<Store> = defineService("store");

/**
 * How values are kept.
 *
 * While gateways are updated one after the other, two versions of a plugin use one bucket. Fields that are new in a version need
 * nothing else: the version before reads the others and, where it writes over a value, leaves those that its schema does not know as
 * they are; so a schema must not refuse unknown fields. Fields of objects in lists are not kept. What the version before must not
 * touch at all takes a higher `version`.
 *
 * @example const options: KvOptions<Note> = { schema: noteSchema, version: 2, ttl: 3_600_000 };
 */
export interface KvOptions<T> {
  /** Reads what is there; a value that it refuses is left alone and counts as absent. Default: anything. */
  readonly schema?: ZodType<T>;
  /** Of the values' form. One of a higher version is left alone: never shown, never replaced. Default: 1. */
  readonly version?: number;
  /** Milliseconds that a value stays after its last write. Default: forever. */
  readonly ttl?: number;
}

/**
 * A value with its key and revision.
 *
 * @example const { key, value, rev }: Entry<Note> = entry;
 */
export interface Entry<T> {
  readonly key: string;
  readonly value: T;
  /** Of its last write; higher than that of every write before it, to whatever key. */
  readonly rev: number;
}

/**
 * Values under keys. Keys are made by `storeKey`, or are printable ASCII without spaces, at most 512 characters. Values are JSON of at
 * most 32 MiB.
 *
 * @example const notes: Kv<Note> = store.kv("notes");
 */
export interface Kv<T> {
  /** Absent when there is none, it ended, or it cannot be read. */
  get(key: string): Promise<Entry<T> | undefined>;
  /**
   * Writes over whatever is there, except for fields that only a later version knows.
   * @returns the new revision
   * @throws {GatewayError} `exists` where a value of a later version is; `too_large`
   */
  put(key: string, value: T): Promise<number>;
  /** Writes where nothing is. @returns the new revision; `undefined` when something is there */
  create(key: string, value: T): Promise<number | undefined>;
  /** Writes over one revision; 0: where nothing is. @returns the new revision; `undefined` when another is there */
  update(key: string, value: T, rev: number): Promise<number | undefined>;
  /**
   * Changes what is there, no matter who else changes it at the same time.
   *
   * @param edit makes of what is there (`undefined`: nothing) what is to be there (`undefined`: nothing); called again when another
   *   replica was faster. What it gets means that nothing is written
   * @returns what is there then
   * @throws {GatewayError} `unavailable` when others change it all the time; `exists` where a value of a later version is; what `edit` throws
   * @example const counter = await store.kv<number>("counters").change("visits", (count = 0) => count + 1);
   */
  change(key: string, edit: (before: T | undefined) => T | undefined): Promise<T | undefined>;
  /** @param rev deletes only this revision @returns whether something was deleted */
  delete(key: string, rev?: number): Promise<boolean>;
  /** Values in the order of their keys, read a page at a time. @param prefix how their keys begin; default: all */
  list(prefix?: string, options?: { readonly after?: string }): AsyncIterable<Entry<T>>;
  /**
   * Tells what is there, and then of every change, by whichever replica: an entry, or the key of one that is gone. Changes that
   * follow fast may be told as one; the last is always told. One whose `ttl` ended is told when something removes it.
   * Resolves when all that is there was told.
   */
  watch(
    prefix: string,
    listener: (key: string, entry: Entry<T> | undefined) => void,
  ): Promise<Unsubscribe>;
  /**
   * Tells the key of every change from now on, by whichever replica, and reads nothing: for a bucket of which few values matter to
   * one replica. `undefined`: any of them may have changed. A change of just before may be told, too. Waits while the store is away.
   * @example await store.kv<Note>("notes").watchKeys((key) => (key ? drop(key) : dropAll()));
   */
  watchKeys(listener: (key: string | undefined) => void): Promise<Unsubscribe>;
}

/**
 * Messages to every replica of a store: at most once, in order for each sender, each at most 8 KB of JSON.
 *
 * @example const moved: Topic<string> = store.topic("moved");
 */
export interface Topic<T> {
  /** @throws {GatewayError} `too_large` */
  publish(message: T): Promise<void>;
  subscribe(listener: (message: T, from: string) => void): Promise<Unsubscribe>;
}

/**
 * How much of a log stays; the rest is dropped now and then.
 *
 * @example const options: LogOptions = { maxEntries: 10_000, maxAge: 7 * 86_400_000 };
 */
export interface LogOptions {
  readonly maxEntries: number;
  /** Milliseconds. Default: of any age. */
  readonly maxAge?: number;
}

/**
 * An entry of a log.
 *
 * @example const { seq, at, value }: LogEntry<Visit> = entry;
 */
export interface LogEntry<T> {
  readonly value: T;
  /** Its place; later entries have higher ones, with gaps. */
  readonly seq: number;
  /** When it was written, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Entries in order.
 *
 * @example const visits: Log<Visit> = store.log("visits", { maxEntries: 10_000 });
 */
export interface Log<T> {
  /** Adds entries, all or none. @returns the place of the last @throws {GatewayError} `too_large` for one above 32 MiB */
  append(...values: readonly T[]): Promise<number>;
  /** @param after place behind which to begin; default: from the oldest @param limit default: 100 */
  read(options?: {
    readonly after?: number;
    readonly limit?: number;
  }): Promise<readonly LogEntry<T>[]>;
  /** Tells every entry behind a place, and then each that comes. */
  follow(after: number, listener: (entry: LogEntry<T>) => void): Promise<Unsubscribe>;
  /** Drops every entry there is now. */
  clear(): Promise<void>;
}

/**
 * How a meter fills.
 *
 * @example const options: MeterOptions = { burst: 100, interval: 60_000 }; // 100 at once, 100 a minute
 */
export interface MeterOptions {
  /** Tokens it holds at most. */
  readonly burst: number;
  /** Milliseconds in which it fills from empty. */
  readonly interval: number;
}

/**
 * A bucket of tokens.
 *
 * @example const meter: Meter = store.meter("mail", { burst: 100, interval: 60_000 });
 */
export interface Meter {
  /**
   * Takes up to so many tokens.
   * @returns how many it got, and milliseconds until there is one again
   */
  take(count: number): Promise<{ readonly taken: number; readonly retryAfter: number }>;
  /** Gives back what was not used. */
  give(count: number): Promise<void>;
  /**
   * Takes tokens ahead, to be used without asking; each `Meter` holds its own. What all hold and what is in the bucket is never more
   * than `burst`: so within any time no more tokens are used than `burst` and those that it brings.
   *
   * @param count so many more at most; below zero: gives so many back
   * @param options `left`: those held before and not used, without those given back. `ttl`: milliseconds after which the holder
   *   counts as gone; from the call on, by its own clock, it must not use them longer
   */
  hold(
    count: number,
    options: { readonly left: number; readonly ttl: number },
  ): Promise<{
    /** Tokens that are held now. */
    readonly held: number;
    /** Tokens that are in the bucket. */
    readonly tokens: number;
    /** Milliseconds until there is one; 0 when there is. */
    readonly retryAfter: number;
  }>;
}

/**
 * How something is held.
 *
 * @example const options: LeaseOptions = { ttl: 10_000, signal };
 */
export interface LeaseOptions {
  /** Milliseconds after which others may take over from a holder that shows no life. */
  readonly ttl: number;
  /**
   * Milliseconds before the end of `ttl` at which it counts as lost for who holds it: the time to end what must not go on when another
   * begins. At most half of `ttl`. Default: 0.
   */
  readonly margin?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/**
 * Something that one replica holds.
 *
 * @example const lease: Lease = await store.lease("reports", { ttl: 10_000 });
 */
export interface Lease {
  /** Higher than that of every holder before. Put it into what you write, and refuse to write over a higher one. */
  readonly fence: number;
  /** Aborts when it is lost: others may hold it from then on. */
  readonly signal: AbortSignal;
  /** Whether it is held at this moment. A process that was stopped may go on before its `signal` can abort: this knows. */
  readonly isHeld: boolean;
  /** Gives it back; safe to call twice. */
  release(): Promise<void>;
}

/**
 * One gateway among those that use a store.
 *
 * @example const [eldest]: readonly Replica[] = await store.replicas();
 */
export interface Replica {
  readonly id: string;
  /** Version of Propylon. */
  readonly version: string;
  /** When it began, in milliseconds since 1970. */
  readonly since: number;
}
