/** A bucket is known by the instant at which it is full again; a full one needs no entry. */
interface Bucket {
  fullAt: number;
}

/** Rounding of instants must not cost a caller the token it has. */
const EPSILON_MS = 1e-6;

/**
 * Token buckets by key (M124): each holds up to `burst` tokens, gets one back every `interval` milliseconds, and a call takes one.
 * So within any time t at most `burst + t / interval` calls run. Instants are those of a clock that never jumps.
 */
export class Buckets {
  readonly burst: number;
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

  /** Milliseconds until there is a token; 0 = there is one. */
  wait(key: string, now: number): number {
    const missing = this.untilFull(key, now) - (this.burst - 1) * this.#interval;
    return missing > EPSILON_MS ? missing : 0;
  }

  /** Takes a token; whether there is one is for {@link wait} to say. */
  take(key: string, now: number): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.fullAt = Math.max(bucket.fullAt, now) + this.#interval;
    else {
      if (this.#buckets.size >= this.#limit) this.#makeRoom(now);
      this.#buckets.set(key, { fullAt: now + this.#interval });
    }
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
