import { GatewayError } from "propylon";
import { backoffDelay, pause } from "propylon/kit";

/** Waits before what is left is tried again; a write without an answer may still come true in the first. */
const BACKOFF = { initial: 5_000, max: 300_000 };
/** How many may wait: each write that fails leaves one. */
const MAX_LEFTOVERS = 1_000;

/** What could not be cleaned up, and is tried again until it can. */
export class Leftovers {
  readonly #settle: (key: string) => Promise<void>;
  readonly #keys = new Set<string>();
  readonly #end = new AbortController();
  #isWorking = false;

  /** @param settle cleans one up */
  constructor(settle: (key: string) => Promise<void>) {
    this.#settle = settle;
  }

  /** @throws {GatewayError} `unavailable` where there are too many for another write */
  check(): void {
    if (this.#keys.size < MAX_LEFTOVERS) return;
    throw new GatewayError("unavailable", "Too many payloads wait to be cleaned up.", {
      hint: "Make the request again once the store and the bucket of the payloads can be used.",
    });
  }

  add(key: string): void {
    this.#keys.add(key);
    if (this.#isWorking) return;
    this.#isWorking = true;
    void this.#work().finally(() => (this.#isWorking = false));
  }

  close(): void {
    this.#end.abort();
  }

  async #work(): Promise<void> {
    const { signal } = this.#end;
    for (let failures = 1; this.#keys.size > 0; failures++) {
      await pause(backoffDelay(failures, BACKOFF), signal);
      for (const key of this.#keys) {
        if (signal.aborted) return;
        const isDone = await this.#settle(key).then(
          () => true,
          () => false,
        );
        // The others would fail as this one did.
        if (!isDone) break;
        this.#keys.delete(key);
        failures = 0;
      }
    }
  }
}
