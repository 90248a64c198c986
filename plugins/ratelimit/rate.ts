import { GatewayError } from "propylon";
import type { RateOptions } from "./options.ts";
import { Selector, type Limited } from "./selector.ts";

/** The buckets of a rule: those of this gateway alone, or those that the replicas of a store share. */
export interface RateTokens {
  readonly burst: number;
  /** Milliseconds until an empty bucket is full. */
  readonly fillTime: number;
  /** Takes a token: 0 = taken, else the milliseconds until there is one. A promise where others must be asked. */
  take(key: string, now: number): number | Promise<number>;
  /** Puts back a token that was just taken. */
  giveBack(key: string): void;
  /** Whole tokens that are there, as far as known. */
  remaining(key: string, now: number): number;
  /** Milliseconds until the bucket is full, as far as known. */
  untilFull(key: string, now: number): number;
  /** Whether others cannot be asked, and what they used is not known. */
  isAlone?(now: number): boolean;
}

/** Makes the buckets of a rule. @param name of the rule @param interval milliseconds in which a bucket gets a token back */
export type CreateTokens = (name: string, burst: number, interval: number) => RateTokens;

/** One token bucket rule: its buckets, and how they are told to clients. */
export class Rate {
  readonly name: string;
  readonly selector: Selector;
  readonly buckets: RateTokens;

  constructor(name: string, options: RateOptions, createTokens: CreateTokens) {
    const { rate, interval, burst = Math.max(1, Math.floor(rate)) } = options;
    this.name = name;
    this.selector = new Selector(options);
    this.buckets = createTokens(name, burst, interval / rate);
  }

  /** Takes a token of the bucket with a key: 0 = taken, else the milliseconds until there is one. */
  take(key: string, now: number): number | Promise<number> {
    return this.buckets.take(key, now);
  }

  /** Puts back a token that was just taken. */
  giveBack(key: string): void {
    this.buckets.giveBack(key);
  }

  /** An item of `RateLimit-Policy`: quota and the seconds in which an empty bucket fills. */
  get policy(): string {
    return `"${this.name}";q=${this.buckets.burst};w=${toSeconds(this.buckets.fillTime)}`;
  }

  /** An item of `RateLimit`: calls left, and the seconds until the bucket is full. */
  state(call: Limited, now: number): string {
    const key = this.selector.keyOf(call);
    const full = toSeconds(this.buckets.untilFull(key, now));
    return `"${this.name}";r=${this.buckets.remaining(key, now)};t=${full}`;
  }

  /** The refusal of a call that must wait that long. */
  refusal(call: Limited, wait: number, now: number): GatewayError {
    const retryAfter = toSeconds(wait);
    const { burst } = this.buckets;
    return new GatewayError("rate_limited", `Too many calls: ${this.#reason(now)}.`, {
      data: {
        limit: burst,
        remaining: this.buckets.remaining(this.selector.keyOf(call), now),
        retryAfter,
        rule: this.name,
      },
      hint: `Try again in ${retryAfter} s.`,
      headers: {
        "retry-after": String(retryAfter),
        "ratelimit-policy": this.policy,
        ratelimit: this.state(call, now),
      },
    });
  }

  #reason(now: number): string {
    return this.buckets.isAlone?.(now)
      ? `the store of the limit "${this.name}" does not answer, and this gateway's share of it begins empty`
      : `the limit "${this.name}" is used up`;
  }
}

/** Whole seconds, rounded up: who waits that long is not refused for the same reason. */
function toSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
