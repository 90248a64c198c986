import { setTimer } from "propylon/kit";

/** Least time between two looks, in milliseconds: there are servers that end their stream every second. */
const APART_MS = 10_000;

/** Has a look at what a server may have said in vain, after each gap in its event stream. Gaps that follow soon share a look. */
export class Gaps {
  readonly #look: () => void;
  #lookedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(look: () => void) {
    this.#look = look;
  }

  /** There was one. */
  note(): void {
    const wait = this.#lookedAt + APART_MS - performance.now();
    if (wait <= 0) this.#begin();
    else this.#timer ??= setTimer(() => this.#begin(), wait).unref();
  }

  /** Looks no more. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #begin(): void {
    this.#timer = undefined;
    this.#lookedAt = performance.now();
    this.#look();
  }
}
