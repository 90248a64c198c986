/** Work by key: one at a time, and at most one of each kind that waits. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, Promise<unknown>>();

  /**
   * Does work behind what the key has. The work must look at the state of the moment in which it begins: a caller that asks while
   * the same kind waits gets the end of that one.
   */
  run<T>(key: string, kind: string, work: () => Promise<T>): Promise<T> {
    const name = `${kind} ${key}`;
    const waiting = this.#waiting.get(name);
    if (waiting) return waiting as Promise<T>;
    const turn = this.#last.get(key) ?? Promise.resolve();
    const done = turn.then(() => {
      this.#waiting.delete(name);
      return work();
    });
    this.#waiting.set(name, done);
    this.#settle(key, done);
    return done;
  }

  #settle(key: string, done: Promise<unknown>): void {
    const forget = (): void => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    };
    const settled: Promise<void> = done.then(forget, forget);
    this.#last.set(key, settled);
  }
}
