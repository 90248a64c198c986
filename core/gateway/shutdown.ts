import type { Logger } from "pino";
import type { Sockets } from "../http/listeners.ts";
import type { Shutdown } from "../plugin/hooks.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import type { Generation } from "./generation.ts";
import type { KeptValues } from "./keep.ts";
import type { ServerPool } from "./pool.ts";
import type { Retirement } from "./reload.ts";
import { disposeScope } from "./scope.ts";

/** After an abort, how long a call may take to end before it is given up on, in milliseconds. */
const ABORT_MS = 1_000;
/** What the aborted calls tell their clients has this long to be written, in milliseconds, when the grace time is over. */
const ANSWER_MS = 250;

/** What a gateway closes. */
export interface Closing {
  readonly current: Generation;
  readonly generations: readonly Generation[];
  readonly retirement: Retirement;
  readonly sockets: Sockets;
  readonly pool: ServerPool;
  readonly kept: KeptValues;
  readonly store: GatewayStore;
  readonly log: Logger;
}

/** What listeners of `gateway:drain` get: work without a call counts as in flight, too. */
export function shutdownOf(generation: Generation): Shutdown {
  const over = new AbortController();
  return {
    signal: over.signal,
    waitUntil: (work) => {
      const release = generation.hold({ slot: -1, abort: (reason) => over.abort(reason) });
      work.then(release, release);
    },
  };
}

/**
 * Waits for the calls in flight, aborts those that take longer than the grace time, and undoes everything in reverse.
 * Every step runs, whatever the others do.
 *
 * @throws {AggregateError} with everything that went wrong, once all is done
 */
export async function shutDown(gateway: Closing, grace: number): Promise<void> {
  const { current, sockets, pool, kept, retirement, store, log } = gateway;
  const until = performance.now() + grace;
  const left = (): number => Math.max(0, until - performance.now());
  const errors: unknown[] = [];
  // What was accepted in this very turn may be a turn away from its call.
  await new Promise((resolve) => void setImmediate(resolve));
  // A call that came before a reload is one in flight like any other.
  await Promise.all(gateway.generations.map((each) => finish(each, grace, log)));
  const step = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.error({ err: error }, "a part of the shutdown failed");
      errors.push(error);
    }
  };
  const rest = (): number => Math.max(left(), ANSWER_MS);
  await step(() => Promise.all(retirement.listeners.map((listener) => listener.close(rest()))));
  await step(() => Promise.all(retirement.work));
  await step(() => current.compiled.endpointServer.close());
  await step(() => sockets.close(rest()));
  for (const scope of current.scopes.toReversed()) errors.push(...(await disposeScope(scope)));
  errors.push(...(await kept.take(kept.plugins).run()));
  await step(() => pool.close(left()));
  await step(() => store.close());
  if (errors.length > 0)
    throw new AggregateError(errors, "The gateway closed, but not everything could be undone.");
}

/** Waits for the calls of one generation and aborts those that take too long. */
async function finish(generation: Generation, grace: number, log: Logger): Promise<void> {
  if (await generation.whenIdle(grace)) return;
  log.warn({ calls: generation.inFlight }, "the grace time is over: calls in flight are aborted");
  generation.abort();
  // A middleware that ignores its signal would hold up a reload's leftovers for the whole drain time.
  if (!(await generation.whenIdle(ABORT_MS))) generation.abandon();
}
