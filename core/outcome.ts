import type { Answer } from "./answer.ts";
import { toGatewayError, type ErrorCode } from "./errors.ts";

/**
 * How a call ended, layer by layer, because "200, success" hides a JSON-RPC error and an `isError` result alike.
 * A layer that was never reached is `undefined`.
 */
export interface Outcome {
  /** `ok` when an answer came back, else the code of the failure. */
  readonly transport: "ok" | ErrorCode;
  /** `ok` for a result, else the JSON-RPC error code. */
  readonly rpc: "ok" | number | undefined;
  /** Whether the tool itself reported success. */
  readonly tool: "ok" | "error" | undefined;
}

const OK: Outcome = { transport: "ok", rpc: "ok", tool: "ok" };
const TOOL_ERROR: Outcome = { transport: "ok", rpc: "ok", tool: "error" };

/** Sorts the end of a call into its three layers. Accepts the answer, or whatever was thrown. Never parses a large result. */
export function outcomeOf(end: Answer | Error): Outcome {
  if (end instanceof Error)
    return { transport: toGatewayError(end).code, rpc: undefined, tool: undefined };
  if (end.isRpcError) return { transport: "ok", rpc: end.error!.code, tool: undefined };
  return end.isError ? TOOL_ERROR : OK;
}
