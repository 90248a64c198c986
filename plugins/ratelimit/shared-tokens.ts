import { within } from "propylon/kit";
import { Buckets } from "propylon/internal";
import type { Meter } from "propylon/store";
import type { RateTokens } from "./rate.ts";

/** Keys that tokens are held for. */
const MAX_KEYS = 10_000;
/** What is taken ahead, as a part of a bucket. */
const AHEAD = 0.05;
/** After so long without an answer of the store tokens are not used any more, in milliseconds. */
const TTL_MS = 5_000;
/** Tokens that were not used for so long are given back, in milliseconds. */
const IDLE_MS = 1_000;
/** Longest wait for the store on the way of a call, and how long it is left alone after that, in milliseconds. */
const ANSWER_MS = 1_000;
const AWAY_MS = 1_000;
/** An empty bucket is asked again no sooner, in milliseconds. */
const ASK_AGAIN_MS = 10;

/** What shared buckets are made of. */
export interface SharedTokensOptions {
  readonly burst: number;
  /** Milliseconds in which a bucket gets a token back. */
  readonly interval: number;
  readonly meterOf: (key: string) => Meter;
  /** Replicas that share the buckets, as far as known. */
  readonly countReplicas: () => number;
}

/** What this gateway has of one bucket. */
interface Holding {
  readonly meter: Meter;
  held: number;
  /** What it was when the store was asked last: more must not come of what is given back. */
  most: number;
  /** When it must not be used any more. */
  until: number;
  usedAt: number;
  /** What was in the bucket, and when. */
  level: number;
  levelAt: number;
  /** Until when the bucket is known to be empty. */
  emptyUntil: number;
  waiting: number;
  asking: Promise<void> | undefined;
}

/**
 * Token buckets of all replicas of a store. Each takes some tokens ahead, so that most calls ask nobody; a bucket and what is held of
 * it are never more than `burst` together. While the store is away each replica lets its share of the rate through.
 */
export class SharedTokens implements RateTokens {
  readonly burst: number;
  readonly #options: SharedTokensOptions;
  readonly #ahead: number;
  readonly #holdings = new Map<string, Holding>();
  #usedAt = -Infinity;
  #away: Buckets | undefined;
  #awayUntil = 0;

  constructor(options: SharedTokensOptions) {
    this.burst = options.burst;
    this.#options = options;
    this.#ahead = Math.max(1, Math.floor(options.burst * AHEAD));
  }

  get fillTime(): number {
    return this.burst * this.#options.interval;
  }

  take(key: string, now: number): number | Promise<number> {
    const holding = this.#holdings.get(key) ?? this.#add(key, now);
    holding.usedAt = this.#usedAt = now;
    if (heldOf(holding, now) >= 1) {
      holding.held--;
      // The next ones are there before they are needed.
      if (holding.held < this.#ahead / 2) this.#askEarly(holding, now);
      return 0;
    }
    if (now < this.#awayUntil) return this.#takeAlone(key, now);
    if (now < holding.emptyUntil) return holding.emptyUntil - now;
    return this.#takeLate(key, holding);
  }

  giveBack(key: string): void {
    const holding = this.#holdings.get(key);
    if (holding && holding.held < holding.most) holding.held++;
    else this.#away?.giveBack(key);
  }

  remaining(key: string, now: number): number {
    return Math.floor(this.#known(key, now));
  }

  untilFull(key: string, now: number): number {
    return Math.max(0, this.burst - this.#known(key, now)) * this.#options.interval;
  }

  /** Whether somebody took tokens of late. */
  isUsed(now: number): boolean {
    return now - this.#usedAt < IDLE_MS;
  }

  isAlone(now: number): boolean {
    return now < this.#awayUntil;
  }

  /** Gives back what is not used, keeps what is, and forgets buckets that nothing is held of. */
  tidy(now: number): void {
    for (const [key, holding] of this.#holdings) {
      if (holding.asking) continue;
      const held = heldOf(holding, now);
      const isIdle = now - holding.usedAt >= IDLE_MS;
      if (held < 1 && isIdle && now - holding.usedAt >= this.fillTime) this.#holdings.delete(key);
      else if (held >= 1 && isIdle) void this.#giveUp(holding);
      else if (held >= 1 && holding.until - now < TTL_MS / 2) void this.#ask(holding, 0);
    }
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    await Promise.all([...this.#holdings.values()].map((holding) => this.#giveUp(holding)));
  }

  #add(key: string, now: number): Holding {
    if (this.#holdings.size >= MAX_KEYS) {
      const [oldest] = this.#holdings.keys();
      this.#holdings.delete(oldest!);
    }
    const holding: Holding = {
      meter: this.#options.meterOf(key),
      held: 0,
      most: 0,
      until: 0,
      usedAt: now,
      level: this.burst,
      levelAt: now,
      emptyUntil: 0,
      waiting: 0,
      asking: undefined,
    };
    this.#holdings.set(key, holding);
    return holding;
  }

  #askEarly(holding: Holding, now: number): void {
    if (this.#ahead > 1 && now >= holding.emptyUntil && now >= this.#awayUntil)
      void this.#ask(holding, this.#ahead);
  }

  async #takeLate(key: string, holding: Holding): Promise<number> {
    holding.waiting++;
    try {
      for (;;) {
        const now = performance.now();
        if (heldOf(holding, now) >= 1) {
          holding.held--;
          return 0;
        }
        if (now < this.#awayUntil) return this.#takeAlone(key, now);
        if (now < holding.emptyUntil) return holding.emptyUntil - now;
        const asking = this.#ask(holding, Math.max(this.#ahead, holding.waiting));
        if (!(await within(asking, ANSWER_MS))) this.#awayUntil = performance.now() + AWAY_MS;
      }
    } finally {
      holding.waiting--;
    }
  }

  /** While the store is away. The bucket begins empty: what was used before is not known. */
  #takeAlone(key: string, now: number): number {
    const { interval, countReplicas } = this.#options;
    const size = countReplicas();
    this.#away ??= new Buckets(Math.max(1, Math.floor(this.burst / size)), interval * size);
    if (this.#away.untilFull(key, now) === 0)
      this.#away.restore(key, now + this.#away.fillTime, now);
    return this.#away.take(key, now);
  }

  /** Takes tokens ahead, once for all who wait. Never rejects. */
  #ask(holding: Holding, count: number): Promise<void> {
    holding.asking ??= this.#hold(holding, count).finally(() => (holding.asking = undefined));
    return holding.asking;
  }

  async #giveUp(holding: Holding): Promise<void> {
    await holding.asking;
    const held = Math.floor(heldOf(holding, performance.now()));
    // Those given back are not used from now on, whatever becomes of the request.
    holding.held = 0;
    if (held >= 1) await this.#ask(holding, -held);
  }

  async #hold(holding: Holding, count: number): Promise<void> {
    const askedAt = performance.now();
    const left = heldOf(holding, askedAt);
    try {
      const { held, tokens, retryAfter } = await holding.meter.hold(count, { left, ttl: TTL_MS });
      const used = Math.max(0, left - heldOf(holding, askedAt));
      holding.held = Math.max(0, held - used);
      holding.most = holding.held;
      holding.until = askedAt + TTL_MS;
      holding.level = tokens;
      holding.levelAt = performance.now();
      if (count > 0 && held - left < 1)
        holding.emptyUntil = holding.levelAt + Math.max(retryAfter, ASK_AGAIN_MS);
      this.#away = undefined;
    } catch {
      this.#awayUntil = performance.now() + AWAY_MS;
    }
  }

  #known(key: string, now: number): number {
    if (now < this.#awayUntil && this.#away) return this.#away.remaining(key, now);
    const holding = this.#holdings.get(key);
    if (!holding) return this.burst;
    const filled = (now - holding.levelAt) / this.#options.interval;
    return Math.min(this.burst, heldOf(holding, now) + holding.level + filled);
  }
}

function heldOf({ held, until }: Holding, now: number): number {
  return now < until ? held : 0;
}
