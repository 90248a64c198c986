import { backoffDelay, pause } from "propylon/kit";
import type { ModelFailure } from "./failure.ts";

/** How requests are repeated; times in milliseconds. */
export interface RetryPolicy {
  readonly retries: number;
  /** First wait; doubles each time. */
  readonly backoff: number;
  /** Longest wait; a provider that asks for more is not asked again. */
  readonly maxWait: number;
}

/**
 * Milliseconds to wait before the retry `attempt` (from 1), or `undefined` when there should be none. What the provider asks
 * for (`Retry-After`) is a floor, spread upwards by a tenth so that agents refused together do not come back together.
 * @param random from 0 to 1
 */
export function waitBefore(
  attempt: number,
  policy: RetryPolicy,
  asked: number | undefined,
  random: number,
): number | undefined {
  if (attempt > policy.retries) return undefined;
  if (asked !== undefined) return asked > policy.maxWait ? undefined : asked * (1 + random / 10);
  return backoffDelay(attempt, { initial: policy.backoff, max: policy.maxWait }, 0, random);
}

/** What one attempt came to. */
export type Attempt<T> = { readonly value: T } | { readonly failure: ModelFailure };

/**
 * Makes attempts until one succeeds, a failure is final, or no more may be made.
 * @param mayRetry asked after each wait, so that nothing is sent for somebody who stopped meanwhile
 * @throws {GatewayError} that of the last failure; the signal's reason when it aborts a wait
 */
export async function retry<T>(
  make: () => Promise<Attempt<T>>,
  policy: RetryPolicy,
  mayRetry: () => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const made = await make();
    if ("value" in made) return made.value;
    const { error, transient, retryAfter } = made.failure;
    const wait = transient ? waitBefore(attempt, policy, retryAfter, Math.random()) : undefined;
    if (wait === undefined || !mayRetry()) throw error;
    await pause(wait, signal);
    signal.throwIfAborted();
    if (!mayRetry()) throw error;
  }
}
