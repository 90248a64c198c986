import { GatewayError } from "propylon";
import { Buckets } from "propylon/kit";
import type { RateOptions } from "./options.ts";
import { Selector, type Limited } from "./selector.ts";

/** One token bucket rule: its buckets, and how they are told to clients. */
export class Rate {
  readonly name: string;
  readonly selector: Selector;
  readonly buckets: Buckets;

  constructor(name: string, options: RateOptions) {
    const { rate, interval, burst = Math.max(1, Math.floor(rate)) } = options;
    this.name = name;
    this.selector = new Selector(options);
    this.buckets = new Buckets(burst, interval / rate);
  }

  /** Takes a token of the bucket with a key: 0 = taken, else the milliseconds until there is one. */
  take(key: string, now: number): number {
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
    return new GatewayError(
      "rate_limited",
      `Too many calls: the limit "${this.name}" is used up.`,
      {
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
      },
    );
  }
}

/** Whole seconds, rounded up: who waits that long is not refused for the same reason. */
function toSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}
