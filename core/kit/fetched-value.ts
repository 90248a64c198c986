/** After this a value is fetched again, while it is still used. */
const FRESH_MS = 300_000;
/** After this it is not used any more: a key that was withdrawn must end, also where its issuer does not answer. */
const USABLE_MS = 600_000;
/** Somebody who misses something in it has it fetched so often at most: a client with made-up tokens must not make the gateway ask. */
const RENEW_MS = 30_000;
/** Without a usable value it is fetched so often at most. */
const RETRY_MS = 5_000;

/**
 * A fetch failed, or did a moment ago.
 *
 * @example if (error instanceof FetchFailure) throw new GatewayError("upstream_error", "The keys cannot be read.", { cause: error });
 */
export class FetchFailure extends Error {
  constructor(cause: unknown) {
    super("An issuer did not answer as it should.", { cause });
  }
}

/**
 * Something of an issuer that is fetched when it is needed and kept for a time: fresh for 5 minutes, usable for 10. One fetch at a
 * time, for all who wait, and after a failure none for 5 seconds.
 *
 * @example
 * const keys = new FetchedValue(() => readKeySet(url));
 * const set = await keys.get();
 */
export class FetchedValue<T> {
  readonly #fetch: () => Promise<T>;
  #value: { readonly of: T; readonly at: number } | undefined;
  #triedAt = -Infinity;
  #failure: FetchFailure | undefined;
  #fetching: Promise<void> | undefined;

  constructor(fetch: () => Promise<T>) {
    this.#fetch = fetch;
  }

  /** Until when the value may be used without a look here, in milliseconds since 1970. */
  get usableUntil(): number {
    return Date.now() + USABLE_MS - this.#age;
  }

  /** What was fetched last, usable or not. */
  get last(): T | undefined {
    return this.#value?.of;
  }

  /** @throws {FetchFailure} where there is no usable value */
  async get(): Promise<T> {
    const age = this.#age;
    if (age >= USABLE_MS) await this.#refresh(RETRY_MS);
    // Its failure shows with the first who needs what is not there.
    else if (age >= FRESH_MS) this.#refresh(RENEW_MS).catch(() => {});
    return this.#value!.of;
  }

  /**
   * The value, fetched again where that was not tried a moment ago.
   * @throws {FetchFailure} where the last try failed: what somebody misses may be in what could not be fetched
   */
  async renew(): Promise<T> {
    await this.#refresh(RENEW_MS);
    return this.#value!.of;
  }

  get #age(): number {
    return performance.now() - (this.#value?.at ?? -Infinity);
  }

  async #refresh(pause: number): Promise<void> {
    if (this.#fetching) return this.#fetching;
    if (performance.now() - this.#triedAt < pause) {
      if (this.#failure) throw this.#failure;
      return;
    }
    this.#triedAt = performance.now();
    this.#fetching = this.#load().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #load(): Promise<void> {
    try {
      this.#value = { of: await this.#fetch(), at: performance.now() };
      this.#failure = undefined;
    } catch (error) {
      this.#failure = new FetchFailure(error);
      throw this.#failure;
    }
  }
}
