import { randomUUID } from "node:crypto";
import type { StoreConnection } from "./connection.ts";
import { StoreKv } from "./kv.ts";
import type { Meter, MeterOptions } from "./store.ts";

/** What a bucket of tokens held, and when. */
interface Level {
  readonly tokens: number;
  readonly at: number;
  /** What was taken ahead, and until when in milliseconds since 1970, by who holds it. */
  readonly held?: Readonly<Record<string, { readonly count: number; readonly until: number }>>;
}

/** What a change leaves in the bucket, and says. */
interface Change<R> {
  readonly tokens: number;
  readonly held?: Level["held"];
  readonly result: R;
}

/** What is held must not be forgotten before it ends, in milliseconds. */
const MIN_TTL_MS = 60_000;

/** A bucket of tokens in the store: read, refilled by the time since, and written over just that revision. */
export class StoreMeter implements Meter {
  readonly #kv: StoreKv<Level>;
  readonly #key: string;
  /** Two meters of one replica hold apart: after a reload there is a previous one for a moment. */
  readonly #holder = randomUUID();
  readonly #options: MeterOptions;
  /** One after the other within this process: only other replicas are in the way. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: StoreConnection, bucket: string, key: string, options: MeterOptions) {
    // A full bucket and none are the same.
    this.#kv = new StoreKv(
      connection,
      bucket,
      { ttl: Math.max(options.interval * 2, MIN_TTL_MS) },
      () => {},
    );
    this.#key = key;
    this.#options = options;
  }

  take(count: number): Promise<{ readonly taken: number; readonly retryAfter: number }> {
    return this.#change((tokens) => {
      const taken = Math.min(Math.floor(count), Math.floor(tokens));
      const left = tokens - taken;
      return { tokens: left, result: { taken, retryAfter: this.#untilOne(left) } };
    });
  }

  give(count: number): Promise<void> {
    return this.#change((tokens) => ({ tokens: tokens + count, result: undefined }));
  }

  hold(
    count: number,
    { left, ttl }: { readonly left: number; readonly ttl: number },
  ): ReturnType<Meter["hold"]> {
    return this.#change((before, at, held = {}) => {
      // One that counted as gone holds nothing any more: others may have its tokens.
      const known = held[this.#holder]?.count ?? 0;
      const kept = Math.min(left, known);
      const back = Math.min(Math.max(0, -count), known - kept);
      const taken = Math.max(0, Math.min(count, Math.floor(before)));
      const tokens = before + back - taken;
      const { [this.#holder]: _own, ...others } = held;
      const own = kept + taken;
      return {
        tokens,
        held: own > 0 ? { ...others, [this.#holder]: { count: own, until: at + ttl } } : others,
        result: { held: own, tokens, retryAfter: this.#untilOne(tokens) },
      };
    });
  }

  #untilOne(tokens: number): number {
    const { burst, interval } = this.#options;
    return tokens >= 1 ? 0 : ((1 - tokens) * interval) / burst;
  }

  #change<R>(edit: (tokens: number, at: number, held: Level["held"]) => Change<R>): Promise<R> {
    const work = this.#last.then(() => this.#tryChange(edit));
    this.#last = work.catch(() => {});
    return work;
  }

  async #tryChange<R>(
    edit: (tokens: number, at: number, held: Level["held"]) => Change<R>,
  ): Promise<R> {
    let result!: R;
    await this.#kv.change(this.#key, (level) => {
      // A clock that is behind must not remove tokens, and one ahead fills once.
      const at = Math.max(Date.now(), level?.at ?? 0);
      const before = living(level?.held, at);
      const change = edit(this.#refill(level, at), at, before);
      ({ result } = change);
      const held = "held" in change ? change.held : before;
      return { tokens: Math.min(this.#room(held), change.tokens), at, ...(held && { held }) };
    });
    return result;
  }

  /** As it fills from one end of what is held to the next: until then a dead one may have used it, so nothing comes back for it before. */
  #refill(level: Level | undefined, now: number): number {
    const { burst, interval } = this.#options;
    if (!level) return burst;
    const ends = Object.values(level.held ?? {}).map(({ until }) => until);
    let { tokens, at } = level;
    for (const end of [...ends.filter((each) => each <= now), now].toSorted((a, b) => a - b)) {
      const from = at;
      at = Math.max(at, end);
      const held = living(level.held, from);
      tokens = Math.min(this.#room(held), tokens + ((at - from) * burst) / interval);
    }
    return tokens;
  }

  /** What the bucket holds beside what gateways hold. */
  #room(held: Level["held"] = {}): number {
    const all = Object.values(held).reduce((sum, { count }) => sum + count, 0);
    return Math.max(0, this.#options.burst - all);
  }
}

/** What gateways hold that show life; the tokens of one that died are gone with it. */
function living(held: Level["held"], now: number): Level["held"] {
  if (!held) return undefined;
  return Object.fromEntries(Object.entries(held).filter(([, { until }]) => until > now));
}
