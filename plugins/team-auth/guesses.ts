import { GatewayError } from "propylon";

/** Wrong credentials that one address may send in a period. */
const MAX_FAILURES = 10;
const PERIOD_MS = 60_000;
/** Addresses that are remembered; beyond, the one that failed longest ago is forgotten. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  count: number;
  readonly until: number;
}

/** Counts wrong credentials by who sends them, so that guessing takes years. What succeeds is never counted. */
export class Guesses {
  readonly #failures = new Map<string, Failures>();
  readonly #now: () => number;

  /** @param now the time in milliseconds, which never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @throws {GatewayError} `rate_limited` for an address that failed too often, until its period is over */
  check(address: string): void {
    const failures = this.#failures.get(address);
    if (!failures || failures.count < MAX_FAILURES) return;
    const wait = failures.until - this.#now();
    if (wait <= 0) return void this.#failures.delete(address);
    throw new GatewayError("rate_limited", "Too many wrong credentials came from this address.", {
      hint: "Correct the credentials, and try again in a minute.",
      headers: { "retry-after": String(Math.ceil(wait / 1_000)) },
    });
  }

  fail(address: string): void {
    const now = this.#now();
    const before = this.#failures.get(address);
    const failures = before && before.until > now ? before : { count: 0, until: now + PERIOD_MS };
    failures.count++;
    this.#failures.delete(address);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(address, failures);
  }
}
