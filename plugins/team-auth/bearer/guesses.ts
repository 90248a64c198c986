import { GatewayError } from "propylon";

/** Wrong credentials that one guesser may send in a period. */
const MAX_FAILURES = 10;
const PERIOD_MS = 60_000;
/** Guessers that are remembered; beyond, the one that failed longest ago is forgotten. */
const MAX_GUESSERS = 10_000;

interface Failures {
  count: number;
  readonly until: number;
}

/** How {@link Guesses} counts. */
export interface GuessesOptions {
  readonly most?: number;
  readonly now?: () => number;
}

/** Counts wrong credentials by guesser, such as an address and the name it tries, so that guessing takes years. What succeeds is never counted. */
export class Guesses {
  readonly #failures = new Map<string, Failures>();
  readonly #most: number;
  readonly #now: () => number;

  /**
   * @param options.most wrong ones that one may send in a minute; default 10
   * @param options.now the time in milliseconds, which never goes back
   */
  constructor({ most = MAX_FAILURES, now = () => performance.now() }: GuessesOptions = {}) {
    this.#most = most;
    this.#now = now;
  }

  /** @throws {GatewayError} `rate_limited` for one that failed too often, until its period is over */
  check(guesser: string): void {
    const failures = this.#failures.get(guesser);
    if (!failures || failures.count < this.#most) return;
    const wait = failures.until - this.#now();
    if (wait <= 0) return void this.#failures.delete(guesser);
    throw new GatewayError("rate_limited", "Too many wrong credentials came from here.", {
      hint: "Correct the credentials, and try again in a minute.",
      headers: { "retry-after": String(Math.ceil(wait / 1_000)) },
    });
  }

  fail(guesser: string): void {
    const now = this.#now();
    const before = this.#failures.get(guesser);
    const failures = before && before.until > now ? before : { count: 0, until: now + PERIOD_MS };
    failures.count++;
    this.#failures.delete(guesser);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= MAX_GUESSERS && oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(guesser, failures);
  }
}
