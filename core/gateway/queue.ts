/** One piece of work at a time, each begun when the one before has ended, however it ended. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
