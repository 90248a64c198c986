import type { Unsubscribe } from "./driver.ts";
import { parseExact } from "../kit/exact-json.ts";
import type { StoreConnection } from "./connection.ts";
import { encodeValue } from "./store-key.ts";
import type { Log, LogEntry, LogOptions } from "./store.ts";

const PAGE = 100;
/** Of the entries that stay: how many more may be there before they are dropped. */
const SLACK = 0.1;
/** How often entries are dropped for their age at most, in milliseconds. */
const TRIM_MS = 60_000;

/** Entries in order. */
export class StoreLog<T> implements Log<T> {
  readonly #connection: StoreConnection;
  readonly #log: string;
  readonly #options: LogOptions;
  #untrimmed = Infinity;
  #trimmedAt = -Infinity;

  constructor(connection: StoreConnection, log: string, options: LogOptions) {
    this.#connection = connection;
    this.#log = log;
    this.#options = options;
  }

  async append(...values: readonly T[]): Promise<number> {
    const texts = values.map((value) => encodeValue(value, 1));
    const seq = await this.#connection.run((driver) => driver.append(this.#log, texts));
    this.#untrimmed += texts.length;
    await this.#trimSometimes();
    return seq;
  }

  async read({ after = 0, limit = PAGE } = {}): Promise<readonly LogEntry<T>[]> {
    const oldest = Date.now() - (this.#options.maxAge ?? Infinity);
    for (let last = after; ;) {
      const place = last;
      const stored = await this.#connection.run((driver) => driver.read(this.#log, place, limit));
      const young = stored.filter(({ at }) => at >= oldest);
      // Entries that are too old and not dropped yet are not the end of the log.
      if (young.length > 0 || stored.length === 0)
        return young.map(({ value, seq, at }) => ({
          seq,
          at,
          value: parseExact(value.slice(2)) as T,
        }));
      last = stored.at(-1)!.seq;
    }
  }

  async follow(after: number, listener: (entry: LogEntry<T>) => void): Promise<Unsubscribe> {
    const end = new AbortController();
    let last = after;
    let working: Promise<void> | undefined;
    let isBehind = false;
    const readOn = async (): Promise<void> => {
      try {
        do {
          isBehind = false;
          const read = (): Promise<readonly LogEntry<T>[]> => this.read({ after: last });
          const entries = await this.#connection.again(read, end.signal);
          for (const entry of entries) {
            if (end.signal.aborted) return;
            last = entry.seq;
            listener(entry);
          }
          isBehind ||= entries.length > 0;
        } while (isBehind && !end.signal.aborted);
      } finally {
        // Not a turn later: what is told in between would be lost.
        working = undefined;
      }
    };
    const work = (): Promise<void> => {
      isBehind = true;
      working ??= readOn();
      return working;
    };
    const stop = await this.#connection.run((driver) =>
      // What goes wrong for good does so at the end of the gateway.
      driver.follow(this.#log, () => void work().catch(() => {})),
    );
    await work();
    return () => {
      end.abort();
      return stop();
    };
  }

  clear(): Promise<void> {
    return this.#connection.run((driver) => driver.trim(this.#log, { maxEntries: 0 }));
  }

  /** Never fails what was written. */
  async #trimSometimes(): Promise<void> {
    const { maxEntries, maxAge } = this.#options;
    const now = performance.now();
    const isOld = maxAge !== undefined && now - this.#trimmedAt > Math.min(TRIM_MS, maxAge);
    if (this.#untrimmed <= maxEntries * SLACK && !isOld) return;
    this.#untrimmed = 0;
    this.#trimmedAt = now;
    const before = maxAge === undefined ? undefined : Date.now() - maxAge;
    await this.#connection
      .run((driver) => driver.trim(this.#log, { maxEntries, before }))
      .catch(() => {});
  }
}
