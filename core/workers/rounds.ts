import { GatewayError } from "../kit/errors.ts";
import { Semaphore } from "../kit/semaphore.ts";
import type { ReloadReport } from "../plugin/hooks.ts";
import { setTimer, within } from "../kit/timers.ts";
import { type Round, WORKER } from "./protocol.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** How long the workers may take to prepare a config, in milliseconds. */
const PREPARE_MS = 60_000;
/** How long they may take to undo it, in milliseconds. */
const UNDO_MS = 10_000;

/** Configs that all workers apply or none, one after the other. */
export class Rounds {
  readonly #workers: () => readonly WorkerProcess[];
  readonly #turns = new Semaphore(1);
  readonly #closed = new AbortController();
  #current: Ballot | undefined;
  #lastNumber = 0;

  constructor(workers: () => readonly WorkerProcess[]) {
    this.#workers = workers;
  }

  /** Does something between two rounds. */
  async between<T>(work: () => T | Promise<T>): Promise<T> {
    const end = await this.#turns.take(this.#closed.signal);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /**
   * Has all workers apply a config; only between two rounds.
   *
   * @param write what is left to do when all could apply it; its failure is one of the round
   * @throws {GatewayError} why one of them could not; then all are as they were
   */
  async run(text: string | undefined, write?: () => Promise<void>): Promise<ReloadReport> {
    const joined = this.#workers().filter(({ hasJoined }) => hasJoined);
    await Promise.all(joined.map(({ settled }) => settled));
    const voters = joined.filter(({ isReady, channel }) => isReady && !channel.closed.aborted);
    if (voters.length === 0) throw nobody();
    const round: Round = { number: ++this.#lastNumber, text };
    const ballot = new Ballot(round.number, voters.length, write);
    this.#current = ballot;
    const timer = setTimer(() => ballot.fail(late()), PREPARE_MS);
    const reports = voters.map(async ({ channel }) => {
      try {
        return await channel.ask<ReloadReport>(WORKER.apply, round);
      } catch (error) {
        ballot.fail(error as Error);
        return undefined;
      }
    });
    try {
      await ballot.decided;
      const applied = await Promise.all(reports);
      const report = applied.find((each) => each !== undefined);
      if (report) return report;
      // They died over it, and their successors begin with it.
      throw nobody();
    } finally {
      clearTimeout(timer);
      this.#current = undefined;
      // One that still prepares finds out when it votes.
      await within(Promise.all(reports), UNDO_MS);
    }
  }

  /** Resolves when all could apply the round of this number. */
  vote(round: number): Promise<void> {
    if (this.#current?.number !== round) return Promise.reject(late());
    return this.#current.vote();
  }

  close(): void {
    this.#closed.abort(new GatewayError("draining", "The gateway is closed."));
  }
}

/** The votes of one round. */
class Ballot {
  readonly number: number;
  /** Resolves when all could; rejects with why one could not. */
  readonly decided: Promise<void>;
  #missing: number;
  readonly #write: (() => Promise<void>) | undefined;
  #resolve = (): void => {};
  #reject = (_error: Error): void => {};

  constructor(number: number, voters: number, write: (() => Promise<void>) | undefined) {
    this.number = number;
    this.#missing = voters;
    this.#write = write;
    this.decided = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.decided.catch(() => {});
  }

  vote(): Promise<void> {
    if (--this.#missing === 0)
      Promise.resolve(this.#write?.()).then(this.#resolve, (error: Error) => this.fail(error));
    return this.decided;
  }

  /** After the decision it changes nothing. */
  fail(error: Error): void {
    this.#reject(error);
  }
}

function late(): GatewayError {
  return new GatewayError("timeout", "A worker did not prepare the config in time.", {
    hint: `Each has ${PREPARE_MS / 1_000} s. Look in the log for what it waits for.`,
  });
}

function nobody(): GatewayError {
  return new GatewayError("unavailable", "No worker is there to apply the config.", {
    hint: "Try again in a few seconds; the log says why they ended.",
  });
}
