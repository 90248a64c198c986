import { within } from "./timers.ts";
import { Semaphore } from "./semaphore.ts";

/**
 * What is known under a name.
 *
 * @example const known = gateway.keep("known", () => new Map<string, KnownFact<boolean>>());
 */
export interface KnownFact<T> {
  readonly value: T;
  /** When it was asked, in milliseconds of `performance.now()`. */
  readonly askedAt: number;
  /** When to ask again. */
  readonly due: number;
}

/**
 * How to find something out.
 *
 * @example
 * const options: FactChecksOptions<boolean> = { interval: 15_000, lasts: 60_000, known, ask: (name) => isUp(name) };
 */
export interface FactChecksOptions<T> {
  /** Milliseconds between two questions about a name. */
  readonly interval: number;
  /** Milliseconds after which what is known is too old to be told without asking. */
  readonly lasts: number;
  /** What is known already; outlives this. */
  readonly known: Map<string, KnownFact<T>>;
  /** Asks. Must not reject; `undefined` = there is nothing to know. */
  readonly ask: (name: string, signal: AbortSignal) => Promise<T | undefined>;
  /** Questions at a time; default: all. */
  readonly parallel?: number;
}

/** A question that is not answered yet. */
interface Question {
  /** In milliseconds of `performance.now()`. */
  readonly begun: number;
  /** The answer is known, or nobody wants it any more. */
  readonly end: Promise<void>;
  readonly abort: AbortController;
}

/**
 * Facts by name that are found out by asking: told from memory, renewed in the background, one question per name at a time.
 *
 * @example
 * const checks = new FactChecks({ interval: 15_000, lasts: 60_000, known: new Map(), ask: (name) => isUp(name) });
 * const timer = setTicker(() => checks.renewDue(names), 1_000);
 */
export class FactChecks<T> {
  readonly #options: FactChecksOptions<T>;
  readonly #asking = new Map<string, Question>();
  readonly #turns: Semaphore;

  constructor(options: FactChecksOptions<T>) {
    this.#options = options;
    this.#turns = new Semaphore(options.parallel ?? Infinity);
  }

  /** What is known; `undefined` when it is nothing, or too old. */
  latest(name: string): T | undefined {
    const known = this.#options.known.get(name);
    return known && performance.now() - known.askedAt < this.#options.lasts
      ? known.value
      : undefined;
  }

  /** Asks now, or joins the question under way. */
  renew(name: string): void {
    this.#begin(name);
  }

  /** Asks about those names whose time has come. */
  renewDue(names: Iterable<string>): void {
    const now = performance.now();
    for (const name of names)
      if ((this.#options.known.get(name)?.due ?? 0) <= now) this.#begin(name);
  }

  /**
   * Waits until something is known of every name, but not longer than so many milliseconds after the question: the
   * answer then counts for the next caller, and a further call does not wait for the same silence again.
   */
  async whenKnown(names: Iterable<string>, budget: number): Promise<void> {
    const unknown = [...names].filter((name) => this.latest(name) === undefined);
    const questions = unknown.map((name) => this.#begin(name));
    const now = performance.now();
    const asked = questions.filter(({ begun }) => now - begun < budget);
    await Promise.all(asked.map(({ end, begun }) => within(end, budget - (now - begun))));
  }

  /** Forgets a name, and what is being asked about it. */
  forget(name: string): void {
    this.#options.known.delete(name);
    this.#asking.get(name)?.abort.abort();
    this.#asking.delete(name);
  }

  /** Asks nothing any more. */
  close(): void {
    for (const { abort } of this.#asking.values()) abort.abort();
    this.#asking.clear();
  }

  #begin(name: string): Question {
    const running = this.#asking.get(name);
    if (running) return running;
    const abort = new AbortController();
    const begun = performance.now();
    const question = { begun, abort, end: this.#ask(name, begun, abort.signal) };
    this.#asking.set(name, question);
    return question;
  }

  async #ask(name: string, askedAt: number, signal: AbortSignal): Promise<void> {
    const { interval, known } = this.#options;
    const value = await this.#inTurn(name, signal);
    if (signal.aborted) return;
    this.#asking.delete(name);
    if (value === undefined) return void known.delete(name);
    // Spread, so that servers that were asked together drift apart.
    const due = askedAt + interval * (0.9 + 0.2 * Math.random());
    known.set(name, { value, askedAt, due });
  }

  async #inTurn(name: string, signal: AbortSignal): Promise<T | undefined> {
    const { ask, parallel } = this.#options;
    if (parallel === undefined) return ask(name, signal);
    const end = await this.#turns.take(signal).catch(() => undefined);
    try {
      return end && (await ask(name, signal));
    } finally {
      end?.();
    }
  }
}
