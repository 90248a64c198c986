/** How often each resource of a server is watched: the server is told of the first and of the last of it. */
export class WatchCounts {
  readonly #counts = new Map<string, number>();

  get all(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  has(uri: string): boolean {
    return this.#counts.has(uri);
  }

  /** @returns whether it is the first */
  add(uri: string, times = 1): boolean {
    const before = this.#counts.get(uri) ?? 0;
    this.#counts.set(uri, before + times);
    return before === 0;
  }

  /** @returns whether it was the last one; `false` for one that nobody watches */
  remove(uri: string): boolean {
    const count = this.#counts.get(uri) ?? 0;
    if (count > 1) this.#counts.set(uri, count - 1);
    else this.#counts.delete(uri);
    return count === 1;
  }
}
