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

/** Writes after which values that ended are looked for, at least. */
const MIN_WRITES = 1_000;

/** The store of a gateway that stores nothing beyond its process. */
export class MemoryDriver implements StoreDriver {
  readonly shared = false;
  readonly durable = false;
  readonly #buckets = new Map<string, Map<string, Held>>();
  /** Values that were written since those that ended were looked for. */
  #writes = 0;
  readonly #logs = new Map<string, LoggedValue[]>();
  readonly #events = new LocalEvents();
  #rev = 0;
  #seq = 0;

  /** How many values are held, those included that ended and still have to go. */
  get size(): number {
    return [...this.#buckets.values()].reduce((sum, { size }) => sum + size, 0);
  }

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
    this.#sweepSometimes();
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

  /** Values that ended go, even if nobody ever asks for them again; for each write it costs two looks at most. */
  #sweepSometimes(): void {
    if (++this.#writes < MIN_WRITES) return;
    if (2 * this.#writes < this.size) return;
    this.#writes = 0;
    const now = Date.now();
    for (const bucket of this.#buckets.values())
      for (const [key, { until }] of bucket) if (until <= now) bucket.delete(key);
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
