import { pause } from "propylon/kit";

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
