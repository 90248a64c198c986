import { Gate } from "../upstream/gate.ts";

/** Messages that may wait; of those with a key the newest waits alone. */
const MAX_WAITING = 1_000;

/** Messages for one reader that may read slowly: what is superseded is dropped, and so is what there is no room for. */
export class CoalescingQueue<T> {
  #waiting = new Map<unknown, T>();
  #isOver = false;
  #gate = new Gate();
  /** Messages there was no room for. */
  dropped = 0;

  /** @param key what one message is about; default: nothing is superseded @returns whether there is room */
  push(message: T, key: unknown = Symbol("only")): boolean {
    if (this.#isOver) return false;
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(key)) {
      this.dropped++;
      return false;
    }
    this.#waiting.set(key, message);
    this.#gate.end();
    return true;
  }

  /** Nothing follows but this, for which there always is room. */
  end(message?: T): void {
    if (message !== undefined && !this.#isOver) this.#waiting.set(Symbol("last"), message);
    this.#isOver = true;
    this.#gate.end();
  }

  /** What waits and what comes, until the end. */
  async *read(): AsyncIterable<T> {
    for (;;) {
      const batch = this.#waiting;
      this.#waiting = new Map();
      yield* batch.values();
      if (this.#waiting.size > 0) continue;
      if (this.#isOver) return;
      this.#gate = new Gate();
      await this.#gate.promise;
    }
  }
}
