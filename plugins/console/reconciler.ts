import { toGatewayError, type PluginContext } from "propylon";
import { backoffDelay, type BackoffPolicy, pause } from "propylon/kit";
import type { Store } from "propylon/store";
import type { TeamMetrics } from "./metrics.ts";
import type { TeamRows } from "./data/team-rows.ts";
import type { ConsoleTeams } from "./console-teams.ts";

/** Teams at a time. */
const PARALLEL = 4;
/** Pause between two looks at what is to be tried again, in milliseconds. */
const LOOK_MS = 1_000;
const LEASE_MS = 10_000;

/** How long a team that failed is left alone, in milliseconds. */
const RETRY: BackoffPolicy = { initial: 1_000, max: 300_000 };

/** What a {@link Reconciler} works with. */
export interface ReconcilerOptions {
  readonly teams: Pick<ConsoleTeams, "check">;
  readonly rows: Pick<TeamRows, "ids">;
  readonly metrics: TeamMetrics["reconcile"];
  readonly log: PluginContext["log"];
  /** Milliseconds between two cycles, more or less a tenth. */
  readonly interval: number;
  /** Default: 1 s, doubled up to 5 min. */
  readonly retry?: BackoffPolicy;
}

interface Failure {
  readonly count: number;
  /** When to try again, in milliseconds of `performance.now()`. */
  readonly due: number;
}

/** Makes the issuer have what the tables say, whatever got lost on the way. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #failures = new Map<string, Failure>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Works until the signal aborts, in one replica of the store at a time. */
  async run(store: Store, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const lease = await store.lease("reconciler", { ttl: LEASE_MS, signal });
      try {
        await this.#hold(AbortSignal.any([signal, lease.signal]));
      } finally {
        await lease.release();
      }
    }
  }

  /** Looks at every team once, except for those that failed a moment ago. */
  async cycle(signal: AbortSignal): Promise<void> {
    const ids = await this.#options.rows.ids();
    const known = new Set(ids);
    for (const id of this.#failures.keys()) if (!known.has(id)) this.#failures.delete(id);
    await this.#checkAll(
      ids.filter((id) => this.#isDue(id)),
      signal,
    );
    this.#options.metrics.cycles.inc();
  }

  async #hold(signal: AbortSignal): Promise<void> {
    const { interval, log } = this.#options;
    let next = 0;
    while (!signal.aborted) {
      const now = performance.now();
      try {
        if (now < next) await this.#retry(signal);
        else {
          next = now + interval * (0.9 + 0.2 * Math.random());
          await this.cycle(signal);
        }
      } catch (error) {
        // The tables cannot be read: the next look will do.
        if (!signal.aborted) log.warn({ err: error }, "the reconciler could not look at the teams");
      }
      await pause(Math.min(LOOK_MS, interval), signal);
    }
  }

  #retry(signal: AbortSignal): Promise<void> {
    return this.#checkAll(
      [...this.#failures.keys()].filter((id) => this.#isDue(id)),
      signal,
    );
  }

  #isDue(id: string): boolean {
    return (this.#failures.get(id)?.due ?? 0) <= performance.now();
  }

  async #checkAll(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const left = ids.values();
    const work = async (): Promise<void> => {
      for (const id of left) {
        if (signal.aborted) return;
        await this.#check(id, signal);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
  }

  async #check(id: string, signal: AbortSignal): Promise<void> {
    const { teams, metrics } = this.#options;
    try {
      if (await teams.check(id)) metrics.repairs.inc();
      this.#failures.delete(id);
    } catch (error) {
      if (!signal.aborted) this.#fail(id, error);
    }
  }

  #fail(id: string, error: unknown): void {
    const { metrics, log, retry = RETRY } = this.#options;
    metrics.failures.inc();
    const count = (this.#failures.get(id)?.count ?? 0) + 1;
    this.#failures.set(id, { count, due: performance.now() + backoffDelay(count, retry) });
    const { code, message } = toGatewayError(error);
    // An issuer that is away for a night fills no log.
    log[count === 1 ? "warn" : "debug"](
      { team: id, code, reason: message, count },
      "team is behind",
    );
  }
}
