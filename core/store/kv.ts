import { GatewayError } from "../errors.ts";
import type { StoredEntry, StoredValue, Unsubscribe } from "./driver.ts";
import type { StoreConnection } from "./connection.ts";
import { checkKey, encodeValue } from "./store-key.ts";
import type { Entry, Kv, KvOptions } from "./store.ts";
import { Watch } from "./kv-watch.ts";

/** Entries that are read at once. */
const PAGE = 256;

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

  async put(key: string, value: T): Promise<number> {
    const text = this.#encode(key, value);
    // One of a later version is only seen by looking.
    if ((await this.#versionAt(key)) > this.#version)
      throw new GatewayError("exists", "A newer gateway wrote this value, so it stays.", {
        hint: "Update this gateway.",
      });
    const rev = await this.#write(key, text);
    return rev!;
  }

  async create(key: string, value: T): Promise<number | undefined> {
    return this.#write(key, this.#encode(key, value), 0);
  }

  async update(key: string, value: T, rev: number): Promise<number | undefined> {
    return this.#write(key, this.#encode(key, value), rev);
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
    return this.#connection.again(() =>
      this.#connection.run((driver) => driver.watch(this.#bucket, listener)),
    );
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

  async #versionAt(key: string): Promise<number> {
    if (this.#options.version === undefined) return 0;
    const stored = await this.#connection.run((driver) => driver.get(this.#bucket, key));
    return stored ? versionOf(stored) : 0;
  }

  #read({ key, value, rev }: StoredEntry): Entry<T> | undefined {
    const version = versionOf({ value });
    if (version > this.#version) {
      this.#onUnreadable(key, `it is of version ${version}`);
      return undefined;
    }
    try {
      const parsed = JSON.parse(value.slice(value.indexOf(":") + 1)) as unknown;
      const { schema } = this.#options;
      return { key, rev, value: schema ? schema.parse(parsed) : (parsed as T) };
    } catch (error) {
      this.#onUnreadable(key, (error as Error).message);
      return undefined;
    }
  }
}

function versionOf({ value }: Pick<StoredValue, "value">): number {
  return Number(value.slice(0, value.indexOf(":")));
}
