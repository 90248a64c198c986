import type {
  ListOptions,
  LoggedValue,
  LogRetention,
  PutOptions,
  StoredEntry,
  StoredValue,
  StoreDriver,
  Unsubscribe,
} from "./driver.ts";
import { LocalEvents } from "./local-events.ts";

interface Held extends StoredValue {
  readonly until: number;
}

/** The store of a gateway that keeps nothing beyond its process. */
export class MemoryDriver implements StoreDriver {
  readonly shared = false;
  readonly durable = false;
  readonly #buckets = new Map<string, Map<string, Held>>();
  readonly #logs = new Map<string, LoggedValue[]>();
  readonly #events = new LocalEvents();
  #rev = 0;
  #seq = 0;

  get(bucket: string, key: string): Promise<StoredValue | undefined> {
    const held = this.#find(bucket, key);
    return Promise.resolve(held && { value: held.value, rev: held.rev });
  }

  put(
    bucket: string,
    key: string,
    value: string,
    { rev, until = Infinity }: PutOptions = {},
  ): Promise<number | undefined> {
    if (rev !== undefined && (this.#find(bucket, key)?.rev ?? 0) !== rev)
      return Promise.resolve(undefined);
    const held = { value, rev: ++this.#rev, until };
    this.#bucket(bucket).set(key, held);
    this.#events.emit(`kv ${bucket}`, key);
    return Promise.resolve(held.rev);
  }

  delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    const held = this.#find(bucket, key);
    if (!held || (rev !== undefined && held.rev !== rev)) return Promise.resolve(false);
    this.#bucket(bucket).delete(key);
    this.#events.emit(`kv ${bucket}`, key);
    return Promise.resolve(true);
  }

  list(bucket: string, { prefix, after = "", limit }: ListOptions): Promise<StoredEntry[]> {
    const keys = [...this.#bucket(bucket).keys()].filter(
      (key) => key.startsWith(prefix) && key > after,
    );
    const entries = keys.toSorted().flatMap((key) => {
      const held = this.#find(bucket, key);
      return held ? [{ key, value: held.value, rev: held.rev }] : [];
    });
    return Promise.resolve(entries.slice(0, limit));
  }

  watch(bucket: string, changed: (key: string | undefined) => void): Promise<Unsubscribe> {
    return Promise.resolve(this.#events.listen(`kv ${bucket}`, changed));
  }

  append(log: string, values: readonly string[]): Promise<number> {
    const at = Date.now();
    this.#log(log).push(...values.map((value) => ({ value, seq: ++this.#seq, at })));
    this.#events.emit(`log ${log}`);
    return Promise.resolve(this.#seq);
  }

  read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    const entries = this.#log(log).filter(({ seq }) => seq > after);
    return Promise.resolve(entries.slice(0, limit));
  }

  trim(log: string, { maxEntries, before = -Infinity }: LogRetention): Promise<void> {
    const entries = this.#log(log);
    const young = entries.findIndex(({ at }) => at >= before);
    const old = young === -1 ? entries.length : young;
    entries.splice(0, Math.max(old, entries.length - maxEntries));
    return Promise.resolve();
  }

  follow(log: string, appended: () => void): Promise<Unsubscribe> {
    return Promise.resolve(this.#events.listen(`log ${log}`, appended));
  }

  publish(topic: string, message: string): Promise<void> {
    this.#events.emit(`topic ${topic}`, message);
    return Promise.resolve();
  }

  subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return Promise.resolve(this.#events.listen(`topic ${topic}`, listener));
  }

  close(): Promise<void> {
    this.#events.close();
    return Promise.resolve();
  }

  #find(bucket: string, key: string): Held | undefined {
    const held = this.#buckets.get(bucket)?.get(key);
    if (!held || held.until > Date.now()) return held;
    this.#bucket(bucket).delete(key);
    return undefined;
  }

  #bucket(name: string): Map<string, Held> {
    const bucket = this.#buckets.get(name) ?? new Map<string, Held>();
    this.#buckets.set(name, bucket);
    return bucket;
  }

  #log(name: string): LoggedValue[] {
    const log = this.#logs.get(name) ?? [];
    this.#logs.set(name, log);
    return log;
  }
}
