/**
 * Lets a few at a time do something; the others wait in the order in which they came.
 *
 * @example
 * const starts = new Semaphore(4);
 * const end = await starts.take(signal);
 * await start().finally(end);
 */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  /** @param limit how many at once */
  constructor(limit: number) {
    this.#free = limit;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a turn. What it resolves with ends the turn; ending it twice does nothing.
   * @param signal ends the wait; default: nothing does
   * @throws the reason of the signal when that aborts first
   */
  take(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve(this.#begin());
    }
    return new Promise((resolve, reject) => {
      const next = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve(this.#begin());
      };
      const leave = (): void => {
        this.#waiting.delete(next);
        reject(signal!.reason);
      };
      this.#waiting.add(next);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #begin(): () => void {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else {
        this.#waiting.delete(next);
        next();
      }
    };
  }
}
