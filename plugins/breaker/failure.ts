import { isGatewayError, type Call } from "propylon";

/**
 * Whether a call failed because of the transport: the server was not reached, broke off, or did not answer in time. An
 * `isError` result and a JSON-RPC error are answers and never get here; a result that is too large was one as well; a client's
 * cancel says nothing about the server.
 */
export function isTransportFailure(error: unknown): error is Error {
  return isGatewayError(error) && (error.code === "upstream_error" || error.code === "timeout");
}

/** Whether a call failed because the server was not reached or broke off. */
export function isBroken(error: unknown): error is Error {
  return isGatewayError(error) && error.code === "upstream_error";
}

/**
 * Whether the caller may have set the time limit itself. Its timeouts are not counted: five calls with a limit of 1 ms would
 * cut everybody else off from a healthy server.
 */
export function isImpatient({ timeout, meta }: Call): boolean {
  return timeout !== undefined || meta?.["propylon/timeout"] !== undefined;
}
