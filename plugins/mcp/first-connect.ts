import type { Server } from "propylon";

/** How long the first requests wait for servers that are still connecting for the first time. */
const LIMIT_MS = 2_000;

/**
 * The time in which servers connect for the first time. Clients that come meanwhile wait for it to end, so that what they
 * see first is not an empty list; nobody waits twice for the same servers. Lists come after a while all the same.
 */
export class FirstConnect {
  #promise: Promise<void> | undefined;
  #end: (() => void) | undefined;
  #open = false;

  /** What lists wait for: resolves when all have answered or failed, or the time is over; `undefined` = nothing. */
  get promise(): Promise<void> | undefined {
    return this.#promise;
  }

  /** Whether servers connect for the first time, however long that takes. */
  get open(): boolean {
    return this.#open;
  }

  /** Starts to wait if any of these servers is still to answer for the first time. */
  start(servers: readonly Server[]): void {
    if (!servers.some(isSettling)) return;
    this.#open = true;
    this.#promise ??= new Promise((resolve) => {
      const timer = setTimeout(() => this.#release(), LIMIT_MS).unref();
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends the wait if all of these servers have answered or failed. */
  check(servers: readonly Server[]): void {
    if (this.#open && !servers.some(isSettling)) this.end();
  }

  /** Ends the wait. */
  end(): void {
    this.#open = false;
    this.#release();
  }

  #release(): void {
    this.#promise = undefined;
    this.#end?.();
    this.#end = undefined;
  }
}

/** Whether a server has never answered yet, but is about to. */
export function isSettling({ status, catalogue }: Server): boolean {
  return catalogue.hash === "" && (status.state === "connecting" || status.state === "idle");
}
