import { GatewayError, isGatewayError } from "propylon";

/**
 * Waits for work that goes on by itself, as long as the caller does.
 *
 * @throws {GatewayError} why the caller stopped: the reason of the signal when it is one (`timeout`), else `cancelled`
 */
export function whileWanted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortReason(signal));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function abortReason({ reason }: AbortSignal): GatewayError {
  if (isGatewayError(reason)) return reason;
  return new GatewayError("cancelled", "The call was cancelled.", { cause: reason });
}
