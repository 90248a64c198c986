import { GatewayError } from "propylon";
import { setTimer } from "propylon/kit";
import type { PreparedStatements } from "./statements.ts";

/** How long the writes of one transaction may hold the loop, in milliseconds; the one that is under way then is the last. */
const TURN_MS = 1;

/** How long another connection may have the file to itself, in milliseconds: that of a disk that hangs would have it for good. */
const HOLD_MS = 5_000;
/** What writes that wait may hold of text, in UTF-16 units, unless one alone holds more, and what each takes beside its own. */
const MAX_WAITING = 64 * 1_024 * 1_024;
const OWN_SIZE = 1_024;
/** Pages of the file that a write changes beside those of its text, about. */
const PAGES = 3;
/** Size of a page of the file. */
export const PAGE_BYTES = 4_096;

/** What {@link Writes} need. */
export interface WritesOptions {
  readonly statements: PreparedStatements;
  /** Hears how many pages of the file were written, about. */
  readonly committed: (pages: number) => void;
  /** Hears that work was undone, which may be done again. */
  readonly undone: () => void;
}

interface Write {
  readonly size: number;
  readonly work: () => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes that wait for the end of a turn of the loop: those of one turn are one transaction, because a commit costs as much as a
 * write. Each is in the file when its promise resolves, and they are done in the order in which they came.
 */
export class Writes {
  readonly #options: WritesOptions;
  #waiting: Write[] = [];
  #waitingSize = 0;
  /** How many of the first are each a transaction of their own, since one of them undid one of all. */
  #alone = 0;
  #isDue = false;
  #isHeld = false;
  #patience: NodeJS.Timeout | undefined;
  /** Why nothing is written for now. */
  #fault: Error | undefined;

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  /**
   * @param work is done again, alone, when that of others in its transaction failed
   * @param size of the text that it writes
   * @throws {GatewayError} `unavailable` while too much waits
   */
  add<T>(work: () => T, size = 0): Promise<T> {
    if (this.#fault) return Promise.reject(this.#fault);
    if (this.#waiting.length > 0 && this.#waitingSize + size > MAX_WAITING)
      return Promise.reject(tooMuch());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ size, work, resolve: resolve as Write["resolve"], reject });
      this.#waitingSize += OWN_SIZE + size;
      this.#schedule();
    });
  }

  /** Writes wait from now on, for another connection to have the file to itself; those that waited too long are refused. */
  hold(): void {
    this.#isHeld = true;
    this.#patience = setTimer(() => this.#refuse(), HOLD_MS).unref();
  }

  release(): void {
    clearTimeout(this.#patience);
    this.#fault = undefined;
    this.#isHeld = false;
    this.#schedule();
  }

  /** @throws why nothing is written for now: what is read may wait for the same disk, and holds the loop */
  check(): void {
    if (this.#fault) throw this.#fault;
  }

  /** Does all that waits, whatever it takes. */
  finish(): void {
    this.#isHeld = false;
    while (this.#waiting.length > 0) this.#commit();
  }

  #refuse(): void {
    this.#fault = new Error(`the disk has not answered for ${HOLD_MS / 1_000} s`);
    this.#alone = 0;
    for (const { reject } of this.#take(this.#waiting.length)) reject(this.#fault);
  }

  #schedule(): void {
    if (this.#isDue || this.#isHeld || this.#waiting.length === 0) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      if (!this.#isHeld && this.#waiting.length > 0) this.#commit();
      this.#schedule();
    });
  }

  #commit(): void {
    if (this.#alone > 0) {
      this.#commitAlone();
      return;
    }
    const results: unknown[] = [];
    try {
      this.#options.statements.together(() => this.#work(results));
    } catch (error) {
      this.#fail(Math.min(results.length + 1, this.#waiting.length), error);
      return;
    }
    const done = this.#take(results.length);
    this.#options.committed(done.reduce((sum, write) => sum + pagesOf(write), 0));
    for (const [index, { resolve }] of done.entries()) resolve(results[index]);
  }

  /** As much as there is time for. */
  #work(results: unknown[]): void {
    const until = performance.now() + TURN_MS;
    do results.push(this.#waiting[results.length]!.work());
    while (results.length < this.#waiting.length && performance.now() < until);
  }

  /** What one of them ran into undid all: who is to blame is seen when each is done alone. */
  #fail(count: number, error: unknown): void {
    this.#options.undone();
    if (count === 1) this.#take(1)[0]!.reject(error);
    else this.#alone = count;
  }

  /** As many as there is time for: a commit may wait for the disk, and calls have their turn between two. */
  #commitAlone(): void {
    const until = performance.now() + TURN_MS;
    do {
      this.#alone--;
      this.#retry(this.#take(1)[0]!);
    } while (this.#alone > 0 && performance.now() < until);
  }

  #retry(write: Write): void {
    try {
      const result = this.#options.statements.together(write.work);
      this.#options.committed(pagesOf(write));
      write.resolve(result);
    } catch (error) {
      this.#options.undone();
      write.reject(error);
    }
  }

  #take(count: number): readonly Write[] {
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const { size } of taken) this.#waitingSize -= OWN_SIZE + size;
    return taken;
  }
}

const pagesOf = ({ size }: Write): number => PAGES + size / PAGE_BYTES;

function tooMuch(): GatewayError {
  return new GatewayError("unavailable", "Too many writes wait for the gateway's store.", {
    hint: "Try again in a few seconds.",
    headers: { "retry-after": "2" },
  });
}
