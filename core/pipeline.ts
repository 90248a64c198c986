import type { Answer } from "./answer.ts";
import { GatewayError, isGatewayError } from "./errors.ts";
import { STAGES, type Stage } from "./stages.ts";
import type { Call, Middleware, Next } from "./types.ts";

/** A middleware at its place. */
export interface StagedMiddleware {
  readonly stage: Stage;
  readonly run: Middleware;
}

/** Longest delay a timer can hold; a longer one would fire at once. */
const MAX_DELAY_MS = 2_147_483_647;

/**
 * Puts middleware around the terminal in the order of {@link STAGES}; within one stage the order given stays. A stage nobody
 * joined costs nothing, and with no middleware at all the terminal itself is returned.
 */
export function composePipeline(middleware: readonly StagedMiddleware[], terminal: Next): Next {
  const ordered = middleware.toSorted((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage));
  return ordered.reduceRight<Next>(
    (next, { run }) =>
      (call) =>
        settle(run, call, next),
    terminal,
  );
}

/** A middleware that throws at once must look to the one around it like one that rejects. */
function settle(run: Middleware, call: Call, next: Next): Promise<Answer> {
  try {
    return run(call, next);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Why a call was aborted, as the error its caller gets: `timeout` when a deadline passed, else `cancelled`. */
export function abortError(signal: AbortSignal): GatewayError {
  const reason: unknown = signal.reason;
  if (isGatewayError(reason)) return reason;
  return new GatewayError("cancelled", "The call was cancelled.", { cause: reason });
}

/**
 * Rejects as soon as the signal aborts, whatever the work does. For providers that cannot be trusted to watch the signal
 * themselves; upstreams do, and are not raced.
 */
export function race(signal: AbortSignal, work: () => Promise<Answer>): Promise<Answer> {
  if (signal.aborted) return Promise.reject(abortError(signal));
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortError(signal));
    signal.addEventListener("abort", abort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * The core's `deadline`: aborts a call after its time with `timeout` (P/M038: the caller sees 504 and the milliseconds).
 * It only derives a signal; the terminal enforces it, so that a breaker in between sees the timeout as the failure it is.
 *
 * @param timeoutOf milliseconds for a call
 * @param running holds the controller of every call in flight, so that a shutdown can abort them
 */
export function createDeadline(
  timeoutOf: (call: Call) => number,
  running: Set<AbortController>,
): Middleware {
  return (call, next) => {
    const { signal } = call;
    if (signal.aborted) return Promise.reject(abortError(signal));
    const controller = new AbortController();
    const ms = timeoutOf(call);
    const follow = (): void => controller.abort(signal.reason);
    const timer = setTimeout(
      () => controller.abort(timeoutError(call, ms)),
      Math.min(ms, MAX_DELAY_MS),
    );
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", follow);
      running.delete(controller);
    };
    signal.addEventListener("abort", follow, { once: true });
    running.add(controller);
    const answer = next({ ...call, signal: controller.signal });
    answer.then(end, end);
    return answer;
  };
}

function timeoutError({ server, name }: Call, ms: number): GatewayError {
  return new GatewayError("timeout", `"${name}" of "${server}" did not answer within ${ms} ms.`, {
    data: { timeout: ms },
  });
}
