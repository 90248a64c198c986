import { backoffDelay, pause } from "propylon/kit";

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
      await pause(backoffDelay(failures, RETRY), signal);
      if (signal.aborted) throw error;
    }
  }
}
