import type { Provider } from "../provider.ts";

/** How long the first requests wait for servers that are still connecting for the first time. */
const LIMIT_MS = 2_000;

/**
 * The time in which servers connect for the first time. Clients that come meanwhile wait for it to end, so that what they
 * see first is not an empty list; nobody waits twice for the same servers.
 */
export class Settling {
  #promise: Promise<void> | undefined;
  #end: (() => void) | undefined;

  /** Resolves when all have answered or failed, or the time is over; `undefined` = nothing to wait for. */
  get promise(): Promise<void> | undefined {
    return this.#promise;
  }

  /** Starts to wait if any of these providers is still to answer for the first time. */
  start(providers: readonly Provider[]): void {
    if (this.#promise !== undefined || !providers.some(isSettling)) return;
    this.#promise = new Promise((resolve) => {
      const timer = setTimeout(() => this.end(), LIMIT_MS).unref();
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends the wait if all of these providers have answered or failed. */
  check(providers: readonly Provider[]): void {
    if (this.#promise !== undefined && !providers.some(isSettling)) this.end();
  }

  /** Ends the wait. */
  end(): void {
    this.#promise = undefined;
    this.#end?.();
    this.#end = undefined;
  }
}

/** Whether a provider has never answered yet, but is about to. */
function isSettling({ status, catalogue }: Provider): boolean {
  return catalogue.hash === "" && (status.state === "connecting" || status.state === "idle");
}
