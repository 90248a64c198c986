import type { Abortable } from "./cancellation.ts";

/**
 * Longest delay a timer can hold, in milliseconds; a longer one would fire at once.
 *
 * @example const isTooLong = ms > MAX_DELAY_MS; // about 24.8 days
 */
export const MAX_DELAY_MS = 2_147_483_647;

/**
 * `setTimeout` for times that somebody configures: one beyond 24.8 days wraps round in Node and fires at once, here it fires after
 * 24.8 days.
 *
 * @param ms milliseconds
 *
 * @example const timer = setTimer(() => giveUp(), config.timeout); // any number of milliseconds
 */
export function setTimer(callback: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(callback, Math.min(ms, MAX_DELAY_MS));
}

/**
 * `setInterval` in the same way.
 *
 * @param ms milliseconds
 *
 * @example
 * const timer = setTicker(() => sweep(), config.interval);
 * gateway.onDispose(() => clearInterval(timer));
 */
export function setTicker(callback: () => void, ms: number): NodeJS.Timeout {
  return setInterval(callback, Math.min(ms, MAX_DELAY_MS));
}

/**
 * `AbortSignal.timeout` in the same way.
 *
 * @param ms milliseconds
 *
 * @example const signal = AbortSignal.any([call.signal, timeoutSignal(config.timeout)]);
 */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(ms, MAX_DELAY_MS));
}

/**
 * Waits; no longer than the 24.8 days that a timer can hold. Never rejects.
 *
 * @param ms milliseconds
 * @param signal ends the wait early
 *
 * @example await pause(delay, call.signal);
 */
export function pause(ms: number, signal: Abortable): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimer(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}

/**
 * Waits until work has ended, well or badly, but no longer than so many milliseconds; tells whether it has. Never rejects.
 *
 * @example if (!(await within(Promise.all(running), 5_000))) gateway.log.warn("not all ended");
 */
export async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimer(() => resolve(false), ms);
  });
  const ended = work.then(
    () => true,
    () => true,
  );
  const hasEnded = await Promise.race([ended, late]);
  clearTimeout(timer);
  return hasEnded;
}
