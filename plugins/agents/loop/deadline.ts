import { setTimer } from "propylon/kit";
/** Ends a run from outside, or when its time is up. */
export class RunDeadline {
  readonly #outer: AbortSignal;
  readonly #inner = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #expired = false;

  /** @param time milliseconds; absent = no bound */
  constructor(outer: AbortSignal, time: number | undefined) {
    this.#outer = outer;
    if (outer.aborted) this.#abort();
    else outer.addEventListener("abort", this.#abort, { once: true });
    // Node turns what does not fit in 31 bits into 1 ms.
    if (time !== undefined) this.#timer = setTimer(this.#expire, time);
  }

  /** Aborts when either happens. */
  get signal(): AbortSignal {
    return this.#inner.signal;
  }

  get expired(): boolean {
    return this.#expired;
  }

  /** Lets go of the timer and of the signal from outside, which may live much longer. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#abort);
  }

  readonly #abort = (): void => this.#inner.abort(this.#outer.reason);

  readonly #expire = (): void => {
    this.#expired = true;
    this.#inner.abort();
  };
}
