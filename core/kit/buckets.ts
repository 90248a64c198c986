/** A bucket is known by the instant at which it is full again; a full one needs no entry. */
interface Bucket {
  fullAt: number;
}

/** Rounding of instants must not cost a caller the token it has. */
const EPSILON_MS = 1e-6;

/**
 * Token buckets by key: each holds up to `burst` tokens, gets one back every `interval` milliseconds, and a call takes one.
 * So within any time t at most `burst + t / interval` calls run. Instants are those of a clock that never jumps.
 *
 * @example
 * const perAddress = new Buckets(20, 3_000); // 20 at once, 20 a minute
 * const wait = perAddress.take(address, performance.now());
 * if (wait > 0) throw new GatewayError("rate_limited", "Too many requests.");
 */
export class Buckets {
  readonly burst: number;
  /** Counts what changes a level. */
  changes = 0;
  readonly #interval: number;
  readonly #limit: number;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = 0;

  /** @param limit most keys remembered; beyond, the oldest is forgotten, i.e. full again */
  constructor(burst: number, interval: number, limit = 10_000) {
    this.burst = burst;
    this.#interval = interval;
    this.#limit = limit;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Milliseconds until an empty bucket is full. */
  get fillTime(): number {
    return this.burst * this.#interval;
  }

  /** Takes a token if there is one: 0 = taken, else the milliseconds until there is. */
  take(key: string, now: number): number {
    this.changes++;
    const bucket = this.#buckets.get(key);
    if (!bucket) {
      if (this.#buckets.size >= this.#limit) this.#makeRoom(now);
      this.#buckets.set(key, { fullAt: now + this.#interval });
      return 0;
    }
    const fullAt = Math.max(bucket.fullAt, now);
    const missing = fullAt - now - (this.burst - 1) * this.#interval;
    if (missing > EPSILON_MS) return missing;
    bucket.fullAt = fullAt + this.#interval;
    return 0;
  }

  /** Puts back a token that was just taken. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.fullAt -= this.#interval;
  }

  /** Whole tokens that are there. */
  remaining(key: string, now: number): number {
    return Math.floor(this.burst - (this.untilFull(key, now) - EPSILON_MS) / this.#interval);
  }

  /** Milliseconds until the bucket is full. */
  untilFull(key: string, now: number): number {
    const bucket = this.#buckets.get(key);
    return bucket ? Math.max(0, bucket.fullAt - now) : 0;
  }

  /** The buckets that are not full: keys, and when they will be. */
  *levels(now: number): Iterable<readonly [key: string, fullAt: number]> {
    for (const [key, { fullAt }] of this.#buckets) if (fullAt > now) yield [key, fullAt];
  }

  /** Sets a bucket to an earlier level, unless it was used since. */
  restore(key: string, fullAt: number, now: number): void {
    if (fullAt <= now || this.#buckets.has(key) || this.#buckets.size >= this.#limit) return;
    this.#buckets.set(key, { fullAt: Math.min(fullAt, now + this.fillTime) });
  }

  /** Drops full buckets, at most once in the time it takes to fill one, or else the oldest. */
  #makeRoom(now: number): void {
    if (now >= this.#sweepAt) {
      this.#sweepAt = now + this.fillTime;
      for (const [key, { fullAt }] of this.#buckets) if (fullAt <= now) this.#buckets.delete(key);
    }
    if (this.#buckets.size < this.#limit) return;
    const [oldest] = this.#buckets.keys();
    this.#buckets.delete(oldest!);
  }
}
