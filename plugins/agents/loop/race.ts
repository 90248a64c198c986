import { GatewayError } from "propylon";

/**
 * What a promise comes to, unless the signal aborts first: a tool that ignores its signal must not hold up the end of a run.
 * @throws {GatewayError} `cancelled`
 */
export function race<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(cancelled());
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The end of a run that was aborted. */
export function cancelled(): GatewayError {
  return new GatewayError("cancelled", "The run was cancelled.");
}

/** Does work on every item, so many at once, and keeps the order of the results. */
export async function mapParallel<T, R>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, lane));
  return results;
}
