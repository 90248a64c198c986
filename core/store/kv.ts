import { FIRST_PROBLEM } from "../kit/check-shape.ts";
import { parseExact } from "../kit/exact-json.ts";
import { GatewayError } from "../kit/errors.ts";
import { pause } from "../kit/timers.ts";
import type { StoredEntry, StoredValue, Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import { checkKey, encodeValue } from "./store-key.ts";
import type { Entry, Kv, KvOptions } from "./store.ts";
import { type UnknownFields, unknownFields, withUnknown } from "./unknown-fields.ts";
import { Watch } from "./kv-watch.ts";

/** Entries that are read at once. */
const PAGE = 256;
/** Attempts to write over a value that others write over at the same time. */
const ATTEMPTS = 100;

/** Values of a bucket, read and written by one schema. */
export class StoreKv<T> implements Kv<T> {
  readonly #connection: StoreConnection;
  readonly #bucket: string;
  readonly #options: KvOptions<T>;
  readonly #version: number;
  readonly #onUnreadable: (key: string, reason: string) => void;

  constructor(
    connection: StoreConnection,
    bucket: string,
    options: KvOptions<T>,
    onUnreadable: (key: string, reason: string) => void,
  ) {
    this.#connection = connection;
    this.#bucket = bucket;
    this.#options = options;
    this.#version = options.version ?? 1;
    this.#onUnreadable = onUnreadable;
  }

  async get(key: string): Promise<Entry<T> | undefined> {
    checkKey(key);
    const stored = await this.#connection.run((driver) => driver.get(this.#bucket, key));
    return stored && this.#read({ key, ...stored });
  }

  put(key: string, value: T): Promise<number> {
    return this.#again(async () => {
      const made = await this.create(key, value);
      if (made !== undefined) return made;
      // What a later version wrote is only seen by looking.
      const there = await this.#look(key);
      return there && (await this.#writeOver(key, value, there));
    });
  }

  async change(
    key: string,
    edit: (before: T | undefined) => T | undefined,
  ): Promise<T | undefined> {
    const changed = await this.#again(() => this.#tryChange(key, edit));
    return changed.after;
  }

  async create(key: string, value: T): Promise<number | undefined> {
    return this.#write(key, this.#encode(key, value), 0);
  }

  async update(key: string, value: T, rev: number): Promise<number | undefined> {
    if (rev === 0 || !this.#connection.isOfLater(this.#bucket))
      return this.#write(key, this.#encode(key, value), rev);
    const there = await this.#look(key);
    return there?.rev === rev ? this.#writeOver(key, value, there) : undefined;
  }

  delete(key: string, rev?: number): Promise<boolean> {
    checkKey(key);
    return this.#connection.run((driver) => driver.delete(this.#bucket, key, rev));
  }

  async *list(prefix = "", { after }: { readonly after?: string } = {}): AsyncIterable<Entry<T>> {
    for (let last = after; ;) {
      const page = await this.#connection.run((driver) =>
        driver.list(this.#bucket, { prefix, after: last, limit: PAGE }),
      );
      for (const stored of page) {
        const entry = this.#read(stored);
        if (entry) yield entry;
      }
      if (page.length < PAGE) return;
      last = page.at(-1)!.key;
    }
  }

  watch(
    prefix: string,
    listener: (key: string, entry: Entry<T> | undefined) => void,
  ): Promise<Unsubscribe> {
    return new Watch(this.#connection, this.#bucket, prefix, this, listener).start();
  }

  watchKeys(listener: (key: string | undefined) => void): Promise<Unsubscribe> {
    const hear = this.#connection.guard(listener);
    return this.#connection.again(() =>
      this.#connection.run((driver) => driver.watch(this.#bucket, hear)),
    );
  }

  /** Tries until it is done; others write at the same time. */
  async #again<R>(work: () => Promise<R | undefined>): Promise<R> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const done = await work();
      if (done !== undefined) return done;
      await pause(Math.random() * Math.min(attempt, 20), this.#connection.closed);
    }
    throw new GatewayError("unavailable", "Too many gateways write one value at once.", {
      hint: "Try again.",
    });
  }

  async #tryChange(
    key: string,
    edit: (before: T | undefined) => T | undefined,
  ): Promise<{ readonly after: T | undefined } | undefined> {
    const entry = await this.get(key);
    const after = edit(entry?.value);
    if (after === entry?.value) return { after };
    if (after === undefined) return (await this.delete(key, entry!.rev)) ? { after } : undefined;
    const rev =
      (await this.update(key, after, entry?.rev ?? 0)) ??
      (entry ? undefined : await this.#replaceUnreadable(key, after));
    return rev === undefined ? undefined : { after };
  }

  /** What cannot be read counts as absent, and is in the way of what is written where nothing is. */
  async #replaceUnreadable(key: string, value: T): Promise<number | undefined> {
    const there = await this.#look(key);
    const isUnreadable = there !== undefined && !this.#read({ key, ...there });
    return isUnreadable ? this.#writeOver(key, value, there) : undefined;
  }

  #encode(key: string, value: T): string {
    checkKey(key);
    return encodeValue(value, this.#version);
  }

  #write(key: string, text: string, rev?: number): Promise<number | undefined> {
    const { ttl } = this.#options;
    const until = ttl === undefined ? undefined : Date.now() + ttl;
    return this.#connection.run((driver) => driver.put(this.#bucket, key, text, { rev, until }));
  }

  /** What is there as the driver has it, which may be what nobody here can read. */
  #look(key: string): Promise<StoredValue | undefined> {
    checkKey(key);
    return this.#connection.run((driver) => driver.get(this.#bucket, key));
  }

  /**
   * Writes over one revision, of which the fields stay that this version does not know.
   * @throws {GatewayError} `exists` where it is of a later version
   */
  #writeOver(key: string, value: T, there: StoredValue): Promise<number | undefined> {
    if (versionOf(there) > this.#version) throw newer();
    const whole = withUnknown(value, this.#unknownIn(there)) as T;
    return this.#write(key, this.#encode(key, whole), there.rev);
  }

  /** Nothing where all of it cannot be read. */
  #unknownIn({ value }: StoredValue): UnknownFields | undefined {
    try {
      return this.#parse(value).unknown;
    } catch {
      return undefined;
    }
  }

  #read({ key, value, rev }: StoredEntry): Entry<T> | undefined {
    const version = versionOf({ value });
    if (version > this.#version) {
      this.#onUnreadable(key, `it is of version ${version}`);
      return undefined;
    }
    try {
      const { value: read, unknown } = this.#parse(value);
      if (unknown) this.#connection.noteLater(this.#bucket);
      return { key, rev, value: read };
    } catch (error) {
      this.#onUnreadable(key, (error as Error).message);
      return undefined;
    }
  }

  #parse(text: string): { readonly value: T; readonly unknown: UnknownFields | undefined } {
    const parsed = parseExact(text.slice(text.indexOf(":") + 1));
    const { schema } = this.#options;
    if (!schema) return { value: parsed as T, unknown: undefined };
    const value = schema.parse(parsed, FIRST_PROBLEM);
    return { value, unknown: unknownFields(parsed, value) };
  }
}

function newer(): GatewayError {
  return new GatewayError("exists", "A newer gateway wrote this value, so it stays.", {
    hint: "Update this gateway.",
  });
}

function versionOf({ value }: Pick<StoredValue, "value">): number {
  return Number(value.slice(0, value.indexOf(":")));
}
