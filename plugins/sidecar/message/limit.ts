import { setTimer } from "propylon/kit";

/**
 * Ends when a signal does, or after so many milliseconds. `AbortSignal.any` and `AbortSignal.timeout` say the same, but stay with the
 * long-lived signal and in the timer until the time is over: an hour for each task.
 */
export class Limit {
  /** Whether the time is over. */
  isLate = false;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#controller.abort();

  constructor(parent: AbortSignal | undefined, ms: number) {
    this.#parent = parent;
    this.#timer = setTimer(() => this.#expire(), ms);
    if (parent?.aborted) this.#controller.abort();
    parent?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Its holder clears it. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#parent?.removeEventListener("abort", this.#onAbort);
  }

  #expire(): void {
    this.isLate = true;
    this.#controller.abort();
  }
}
