import { GatewayError } from "../errors.ts";
import { pause } from "../timers.ts";
import type { StoreConnection } from "./connection.ts";
import { StoreKv } from "./kv.ts";
import type { Meter, MeterOptions } from "./store.ts";

/** What a bucket of tokens held, and when. */
interface Level {
  readonly tokens: number;
  readonly at: number;
}

/** Attempts against gateways that take from the same bucket at the same time. */
const ATTEMPTS = 100;

/** A bucket of tokens in the store: read, refilled by the time since, and written over just that revision. */
export class StoreMeter implements Meter {
  readonly #kv: StoreKv<Level>;
  readonly #key: string;
  readonly #closed: AbortSignal;
  readonly #options: MeterOptions;
  /** One after the other within this process: only other gateways are in the way. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: StoreConnection, bucket: string, key: string, options: MeterOptions) {
    // A full bucket and none are the same.
    this.#kv = new StoreKv(connection, bucket, { ttl: options.interval * 2 }, () => {});
    this.#key = key;
    this.#closed = connection.closed;
    this.#options = options;
  }

  take(count: number): Promise<{ readonly taken: number; readonly retryAfter: number }> {
    return this.#change((tokens) => {
      const taken = Math.min(Math.floor(count), Math.floor(tokens));
      const left = tokens - taken;
      const { burst, interval } = this.#options;
      const retryAfter = left >= 1 ? 0 : ((1 - left) * interval) / burst;
      return { tokens: left, result: { taken, retryAfter } };
    });
  }

  give(count: number): Promise<void> {
    return this.#change((tokens) => ({ tokens: tokens + count, result: undefined }));
  }

  #change<R>(
    edit: (tokens: number) => { readonly tokens: number; readonly result: R },
  ): Promise<R> {
    const work = this.#last.then(() => this.#tryChange(edit));
    this.#last = work.catch(() => {});
    return work;
  }

  async #tryChange<R>(
    edit: (tokens: number) => { readonly tokens: number; readonly result: R },
  ): Promise<R> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const entry = await this.#kv.get(this.#key);
      // A clock that is behind must not take tokens away, and one ahead fills once.
      const at = Math.max(Date.now(), entry?.value.at ?? 0);
      const { burst } = this.#options;
      const { tokens, result } = edit(this.#refill(entry?.value, at));
      const level = { tokens: Math.min(burst, tokens), at };
      if ((await this.#kv.update(this.#key, level, entry?.rev ?? 0)) !== undefined) return result;
      await pause(Math.random() * Math.min(attempt, 20), this.#closed);
    }
    throw new GatewayError("unavailable", "Too many gateways take from one limit at once.", {
      hint: "Try again.",
    });
  }

  #refill(level: Level | undefined, now: number): number {
    const { burst, interval } = this.#options;
    if (!level) return burst;
    return Math.min(burst, level.tokens + ((now - level.at) * burst) / interval);
  }
}
