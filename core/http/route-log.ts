import type { Logger } from "pino";
import type { GatewayError } from "../errors.ts";

/**
 * Writes down why a route failed, where the fault is the gateway's. That a server failed (502, 504) or calls are refused for
 * now (503) is not: the line of the call tells it, and a stack per refused call would flood the log while a circuit is open.
 */
export function logFault(log: Logger, error: GatewayError): void {
  if (error.status === 500) log.error({ err: error, code: error.code }, "a route failed");
}
