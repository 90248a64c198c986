import { setTimer } from "propylon";

/** Waits so many milliseconds, or until the signal aborts. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
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

/** A pause that doubles with each failure, up to a bound, less a random part of up to half, so that many do not come back at once. */
export function backoff(
  failures: number,
  { initial, max }: { readonly initial: number; readonly max: number },
): number {
  const whole = Math.min(max, initial * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return Math.round(whole * (0.5 + Math.random() / 2));
}

const RETRY = { initial: 200, max: 5_000 };

/**
 * Does something until it goes well.
 * @param isFinal whether another try will fail, too
 * @throws what it failed with last, once the signal aborts, or when that is final
 */
export async function persist<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  isFinal: (error: unknown) => boolean,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || isFinal(error)) throw error;
      await pause(backoff(failures, RETRY), signal);
      if (signal.aborted) throw error;
    }
  }
}
