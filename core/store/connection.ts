import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Logger } from "pino";
import { backoffDelay, type BackoffPolicy } from "../kit/backoff.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import { pause, setTimer } from "../kit/timers.ts";
import type { StoreDriver } from "./driver.ts";

/** A driver that does not answer for so long counts as away, in milliseconds. */
const ANSWER_MS = 5_000;
/** How a store that is away is tried, in milliseconds: most are away for the moment that a new connection takes. */
const RETRY: BackoffPolicy = { initial: 100, max: 750 };

/** A driver in use: what goes wrong with it is told in one way, and once. */
export class StoreConnection {
  readonly driver: StoreDriver;
  /** This gateway among those of the store. */
  readonly replica = randomUUID();
  readonly #log: Logger;
  readonly #closed = new AbortController();
  /** Buckets with values that have fields which this version does not know. */
  readonly #ofLater = new Set<string>();
  #awaySince: number | undefined;

  constructor(driver: StoreDriver, log: Logger) {
    this.driver = driver;
    this.#log = log;
    // As many as there are writes that wait.
    setMaxListeners(0, this.#closed.signal);
  }

  /** How long the store has been away, in milliseconds; 0 while it answers. */
  get awayFor(): number {
    return this.#awaySince === undefined ? 0 : performance.now() - this.#awaySince;
  }

  /** Whether values of a bucket were seen that a later version wrote: then each is looked at before it is written over. */
  isOfLater(bucket: string): boolean {
    return this.#ofLater.has(bucket);
  }

  noteLater(bucket: string): void {
    this.#ofLater.add(bucket);
  }

  /** Aborts when the gateway closes. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** @throws {GatewayError} `unavailable` for whatever the driver throws, except for its own GatewayErrors */
  async run<T>(work: (driver: StoreDriver) => Promise<T>): Promise<T> {
    if (this.closed.aborted) throw away(new Error("the gateway is closed"));
    try {
      // One in this process answers in any case, and what it was asked for is done even if nobody waits any more.
      const { driver } = this;
      const result = await (driver.shared ? answer(work(driver)) : work(driver));
      this.#awaySince = undefined;
      return result;
    } catch (cause) {
      if (isGatewayError(cause)) throw cause;
      this.#noteAway(cause);
      throw away(cause);
    }
  }

  /** Works again and again while the store is away. Rejects as the work does, and at the end of the gateway or of the signal. */
  async again<T>(work: () => Promise<T>, signal = this.closed): Promise<T> {
    for (let failures = 1; ; failures++) {
      try {
        return await work();
      } catch (error) {
        const isAway = isGatewayError(error) && error.code === "unavailable";
        if (!isAway || this.closed.aborted || signal.aborted) throw error;
        // Never at once: a store that refuses at once would keep everything else from running. Nor all together when it is back.
        await pause(backoffDelay(failures, RETRY), signal);
      }
    }
  }

  /** A listener whose failure is told: neither the driver that calls it suffers, nor the process. */
  guard<A extends readonly unknown[]>(listener: (...told: A) => void): (...told: A) => void {
    return (...told) => {
      try {
        listener(...told);
      } catch (err) {
        this.#log.error({ err }, "a listener of the store failed");
      }
    };
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.driver.close();
  }

  #noteAway(cause: unknown): void {
    if (this.#awaySince !== undefined) return;
    this.#awaySince = performance.now();
    this.#log.error({ err: cause }, "the store does not answer");
    void this.#waitForIt();
  }

  async #waitForIt(): Promise<void> {
    for (let failures = 1; this.#awaySince !== undefined && !this.closed.aborted; failures++) {
      // Those who wait for it do not come back all at once.
      await pause(backoffDelay(failures, RETRY), this.closed);
      const probe = this.driver.get("core/probe", "probe");
      if (await answer(probe).then(isReached, isRefused)) this.#awaySince = undefined;
    }
    if (!this.closed.aborted) this.#log.info("the store answers again");
  }
}

const isReached = (): boolean => true;
const isRefused = (): boolean => false;

/** As `within` of it, with few promises: each write of each task waits here. */
function answer<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimer(
      () => reject(new Error(`no answer within ${ANSWER_MS / 1_000} s`)),
      ANSWER_MS,
    );
    const end = (): void => clearTimeout(timer);
    work.then(end, end);
    work.then(resolve, reject);
  });
}

function away(cause: unknown): GatewayError {
  return new GatewayError("unavailable", "The gateway's store does not answer.", {
    cause,
    hint: "Try again in a few seconds; the operator finds the cause in the gateway's log.",
    headers: { "retry-after": "2" },
  });
}
