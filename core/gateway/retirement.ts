import type { Logger } from "pino";
import type { Listener } from "../http/listener.ts";
import type { Generation } from "./generation.ts";
import type { Unwinding } from "./keep.ts";
import { disposeScope, type Scope } from "./scope.ts";

/** What leaves with an old generation. */
interface Leaving {
  /** Retirements under way: their calls may use the same scopes. Their drain times run beside this one's. */
  readonly earlier: readonly Promise<void>[];
  readonly scopes: readonly Scope[];
  readonly dropped: Unwinding;
}

/** What goes on behind reloads: old generations on their way out, and what leaves with them. */
export class Retirement {
  readonly #log: Logger;
  /** Generations whose calls may still be in flight, with the wait for these; `false` = the drain time is over. */
  readonly #generations = new Map<Generation, Promise<boolean>>();
  readonly #listeners = new Set<Listener>();
  readonly #work = new Set<Promise<void>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Old ones whose calls may still be in flight. */
  get generations(): readonly Generation[] {
    return [...this.#generations.keys()];
  }

  /** Those that a reload took away; answers may still be in flight on them. */
  get listeners(): readonly Listener[] {
    return [...this.#listeners];
  }

  /** Resolves when no call is on its way from an old generation any more. */
  get arrived(): Promise<unknown> {
    return Promise.all(this.#generations.values());
  }

  /** What is under way. */
  get work(): readonly Promise<void>[] {
    return [...this.#work];
  }

  /** Begins to wait for the calls of a generation that was replaced, at most so many milliseconds. */
  await(old: Generation, drainMs: number): void {
    this.#generations.set(old, old.whenIdle(drainMs));
  }

  /** Closes a listener after its calls in flight, at most so many milliseconds later. */
  close(listener: Listener, drainMs: number): void {
    this.#listeners.add(listener);
    const closed = this.track(listener.close(drainMs));
    void closed.finally(() => this.#listeners.delete(listener));
  }

  /** Undoes what the new generation did not take over, when the calls of the old one have ended; never rejects. */
  retire(old: Generation, leaving: Leaving): Promise<void> {
    return this.track(this.#retire(old, leaving));
  }

  /** Remembers something, so that a shutdown waits for it. Never rejects. */
  track(work: Promise<void>): Promise<void> {
    const tracked = work
      .catch((error: unknown) =>
        this.#log.error({ err: error }, "something of the old configuration could not be closed"),
      )
      .finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
    return tracked;
  }

  async #retire(old: Generation, { earlier, scopes, dropped }: Leaving): Promise<void> {
    if (!(await this.#generations.get(old))) {
      this.#log.warn(
        { calls: old.inFlight },
        "the drain time is over: calls of the old configuration are aborted",
      );
      old.abort();
    }
    this.#generations.delete(old);
    await Promise.all(earlier);
    for (const scope of scopes.toReversed()) await disposeScope(scope);
    for (const error of await dropped.run())
      this.#log.error({ err: error }, "a kept value could not be disposed");
  }
}
