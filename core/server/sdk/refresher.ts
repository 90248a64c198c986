import { changedLists } from "../../call/catalogue.ts";
import { backoffDelay } from "../../kit/backoff.ts";
import { setTimer, timeoutSignal, within } from "../../kit/timers.ts";
import { GatewayError, toGatewayError, wordsOf } from "../../kit/errors.ts";
import { type Catalogue, EMPTY_CATALOGUE } from "../../call/server.ts";
import type { StatusTracker } from "../status.ts";

/** First and longest wait before what could not be reached is read again, in milliseconds. */
const RETRY_MS = { initial: 2_000, max: 60_000 };

/**
 * What a {@link Refresher} is made of.
 *
 * @example
 * const options: RefresherOptions<Card> = { tracker, subject: "the card", refresh: 300_000, timeout: 10_000, read };
 */
export interface RefresherOptions<T> {
  readonly tracker: StatusTracker;
  /** What is read, as it stands within a sentence: `the OpenAPI document`. */
  readonly subject: string;
  /** Lists to show until it was read. Default: empty ones. */
  readonly catalogue?: Catalogue | undefined;
  /** Milliseconds from one reading to the next; 0 = only when asked for. */
  readonly refresh: number;
  /** Longest time that one reading may take, in milliseconds. */
  readonly timeout: number;
  /**
   * Reads it and makes of it what calls work with.
   *
   * @param signal ends the reading; what it rejects with then is not looked at
   * @param before what was made the last time; returned again when nothing has changed
   * @throws {GatewayError} `upstream_error` when it cannot be reached now; anything else is wrong in itself
   */
  read(signal: AbortSignal, before: T | undefined): Promise<T>;
}

/**
 * Reads what a server is made of - a document, a card, a manifest - again and again, for a server type that a plugin writes. One
 * reading at a time. What cannot be reached is tried again soon, 2 s to 60 s apart; what is wrong in itself when it is next read
 * anyway. What was read last stays in use meanwhile, and the server is `degraded`; one that was never read is in `backoff` or
 * `failed`.
 *
 * @example
 * const refresher = new Refresher({ tracker, subject: "the card", refresh: 300_000, timeout: 10_000, read });
 * const answer = await refresher.use((card) => send(card, call));
 */
export class Refresher<T extends { readonly catalogue: Catalogue }> {
  readonly #options: RefresherOptions<T>;
  readonly #stop = new AbortController();
  #catalogue: Catalogue;
  #latest: T | undefined;
  #running: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #lent = 0;
  #idle: (() => void)[] = [];

  constructor(options: RefresherOptions<T>) {
    this.#options = options;
    this.#catalogue = options.catalogue ?? EMPTY_CATALOGUE;
  }

  /** Of what was read last. */
  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  /** What was made of what was read last; `undefined` before the first time. */
  get latest(): T | undefined {
    return this.#latest;
  }

  /** Begins; returns at once. */
  start(): void {
    const { tracker, subject } = this.#options;
    tracker.set("connecting", { reason: `${subject} is being read` });
    void this.refresh();
  }

  /** Reads now, or waits for the reading under way; resolves when the outcome is known, good or bad. Never rejects. */
  refresh(): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /**
   * Does the work of a call with what was read last; one that comes before the first reading has ended waits for it.
   *
   * @throws {GatewayError} `upstream_error` when there is nothing to work with; what `work` throws
   */
  async use<R>(work: (latest: T) => Promise<R>): Promise<R> {
    this.#lent++;
    try {
      if (!this.#latest) await this.#running;
      if (!this.#latest || this.#stop.signal.aborted) throw this.#unusable();
      return await work(this.#latest);
    } finally {
      if (--this.#lent === 0) for (const wake of this.#idle.splice(0)) wake();
    }
  }

  /**
   * Ends: nothing is read on its own any more, and once the calls have ended - at most after so many milliseconds - nothing at all.
   * May be called again, with less. The state is left to the server, which may have more to close.
   */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#timer);
    if (this.#lent > 0)
      await within(new Promise<void>((resolve) => this.#idle.push(resolve)), graceMs);
    this.#stop.abort();
    await this.#running;
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    const { tracker, timeout, refresh } = this.#options;
    const attempts = tracker.status.attempts + 1;
    const late = timeoutSignal(timeout);
    const signal = AbortSignal.any([this.#stop.signal, late]);
    try {
      const read = await this.#options.read(signal, this.#latest);
      if (this.#stop.signal.aborted) return;
      this.#use(read);
      if (tracker.status.state !== "ready") tracker.set("ready");
      this.#later(refresh);
    } catch (thrown) {
      if (!this.#stop.signal.aborted) this.#onFailure(this.#explain(thrown, late), attempts);
    }
  }

  /** The same makes the same lists: nobody is told. */
  #use(read: T): void {
    this.#latest = read;
    const lists = changedLists(this.#catalogue, read.catalogue);
    this.#catalogue = read.catalogue;
    if (lists.length > 0) this.#options.tracker.emit({ type: "changed", lists });
  }

  #onFailure(error: GatewayError, attempts: number): void {
    const { tracker, refresh } = this.#options;
    const isAway = error.code === "upstream_error";
    const wait = isAway ? backoffDelay(attempts, RETRY_MS) : refresh;
    const state = this.#latest ? "degraded" : isAway ? "backoff" : "failed";
    tracker.set(state, { reason: wordsOf(error), attempts, wait });
    this.#later(wait);
  }

  #explain(thrown: unknown, late: AbortSignal): GatewayError {
    const { tracker, subject } = this.#options;
    const { server } = tracker;
    const error = toGatewayError(thrown);
    const isOwn = error.code === "internal";
    if (late.aborted && (isOwn || error.code === "upstream_error"))
      return new GatewayError(
        "upstream_error",
        `Server "${server}" did not send ${subject} in time.`,
        { data: { server }, cause: thrown },
      );
    if (!isOwn) return error;
    tracker.log.error({ err: error.cause ?? error, server }, `${subject} could not be used`);
    const start = subject.charAt(0).toUpperCase();
    return new GatewayError("internal", `${start}${subject.slice(1)} cannot be understood.`);
  }

  #later(ms: number): void {
    clearTimeout(this.#timer);
    if (ms > 0 && !this.#isClosing) this.#timer = setTimer(() => void this.refresh(), ms).unref();
  }

  #unusable(): GatewayError {
    const { server, status } = this.#options.tracker;
    const why = status.reason ?? (this.#isClosing ? "it was closed" : "it was not started");
    return new GatewayError("upstream_error", `Server "${server}" cannot be used: ${why}`, {
      data: { server, state: status.state },
    });
  }
}
