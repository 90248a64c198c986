import { EventEmitter } from "node:events";
import type { Unsubscribe } from "./driver.ts";

/**
 * What happens in a store that only this process uses, for those who listen to it.
 *
 * @example
 * const events = new LocalEvents();
 * const stop = events.listen("key moved", (key) => console.log(key));
 * events.emit("key moved", "a");
 */
export class LocalEvents {
  readonly #listeners = new EventEmitter().setMaxListeners(0);

  emit(name: string, what = ""): void {
    this.#listeners.emit(name, what);
  }

  /** In a turn of its own: the writer is not held up, nor harmed, by who listens. */
  listen(name: string, listener: (what: string) => void): Unsubscribe {
    let isOver = false;
    const later = (what: string): void =>
      queueMicrotask(() => {
        if (!isOver) listener(what);
      });
    this.#listeners.on(name, later);
    return () => {
      isOver = true;
      this.#listeners.off(name, later);
    };
  }

  close(): void {
    this.#listeners.removeAllListeners();
  }
}
