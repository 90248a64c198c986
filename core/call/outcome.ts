import type { Answer } from "./answer.ts";
import { ERROR_STATUS, toGatewayError, type ErrorCode } from "../kit/errors.ts";
import type { Call, Middleware } from "./call.ts";
import type { Logger } from "pino";

/**
 * How a call ended, layer by layer, because "200, success" hides a JSON-RPC error and an `isError` result alike.
 * A layer that was never reached is `undefined`.
 *
 * @example const didReach = ({ transport }: Outcome): boolean => transport === "ok";
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

/**
 * Sorts the end of a call into its three layers. Accepts the answer, or whatever was thrown. Never parses a large result.
 *
 * @example const { tool } = outcomeOf(await next(call)); // "error" for isError
 */
export function outcomeOf(end: Answer | Error): Outcome {
  if (end instanceof Error)
    return { transport: toGatewayError(end).code, rpc: undefined, tool: undefined };
  if (end.isRpcError) return { transport: "ok", rpc: end.error!.code, tool: undefined };
  return end.isError ? TOOL_ERROR : OK;
}

/**
 * Every way in which a call ends: the only words for it, in the log, metrics, history, pages and commands.
 *
 * @example const outcomeSchema = z.enum(CALL_OUTCOMES);
 */
export const CALL_OUTCOMES = [
  "ok",
  "tool_error",
  "refused",
  "cancelled",
  "timed_out",
  "unreachable",
] as const;

/**
 * How a call ended, in one word.
 * `tool_error`: the answer is an error; the code says whose: `null` is the tool's own (`isError`), a number is JSON-RPC, a word is the
 * gateway's. `refused`: the gateway rejected the call before anything went to the server. `cancelled`: the caller, an operator or a shutdown
 * ended it. `timed_out`: there was no answer in time. `unreachable`: the server was not reached, broke off, or its circuit is open.
 *
 * @example const isServersFault = (outcome: CallOutcome): boolean => outcome === "timed_out" || outcome === "unreachable";
 */
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/**
 * Whether a call counts as a failure. A caller that cancels a call knows that it has no result.
 *
 * @example const failed = entries.filter(({ outcome }) => isFailure(outcome));
 */
export function isFailure(outcome: CallOutcome): boolean {
  return outcome !== "ok" && outcome !== "cancelled";
}

/**
 * An {@link Outcome} in one word, as the log, metrics and history show it.
 *
 * @example const labelOf = ({ outcome, code }: CallEnd): string => code ?? outcome;
 */
export interface CallEnd {
  readonly outcome: CallOutcome;
  /** An {@link ErrorCode} or a JSON-RPC code, always as text; `null` when there was none. */
  readonly code: string | null;
}

const ENDED_WELL: CallEnd = { outcome: "ok", code: null };
const TOOL_FAILED: CallEnd = { outcome: "tool_error", code: null };

/**
 * Says in one word how a call ended. Accepts the answer, or whatever was thrown. Never parses a large result.
 *
 * @example const { outcome, code } = endOf(await next(call));
 */
export function endOf(end: Answer | Error): CallEnd {
  const { transport, rpc, tool } = outcomeOf(end);
  if (transport !== "ok") return { outcome: outcomeOfCode(transport), code: transport };
  if (rpc !== "ok") return { outcome: "tool_error", code: String(rpc) };
  return tool === "ok" ? ENDED_WELL : TOOL_FAILED;
}

/** Codes that are neither a refusal nor an error of what was called. */
const ENDS: Partial<Record<ErrorCode, CallOutcome>> = {
  cancelled: "cancelled",
  draining: "refused",
  timeout: "timed_out",
  upstream_error: "unreachable",
  unavailable: "unreachable",
  // It stands for a server that fails.
  circuit_open: "unreachable",
};

/** What the caller can fix is refused; what is left was reached and failed there. */
function outcomeOfCode(code: ErrorCode): CallOutcome {
  return ENDS[code] ?? (ERROR_STATUS[code] < 500 ? "refused" : "tool_error");
}

/** The fields of a call's line in the log: those that every log of a call has (`ts` and `level` are the logger's) and who, where, which. */
interface CallLine {
  /** The method, e.g. `tools/call`. */
  readonly action: Call["method"];
  readonly server: string;
  /** Name of the tool or prompt, or the resource's URI without credentials and query. */
  readonly tool: string;
  /** Milliseconds, three decimals. */
  readonly duration_ms: number;
  readonly outcome: CallOutcome;
  /** An {@link ErrorCode} or a JSON-RPC code, always as text; `null` when there was none. */
  readonly error_code: string | null;
  readonly endpoint: string;
  readonly source: Call["source"];
  /** Its `ref`. */
  readonly principal: string;
  readonly call: string;
}

/**
 * One `info` line per call, never with its arguments or its result. For the `observe` stage, so that denials
 * show as well.
 */
export function logCalls(log: Logger): Middleware {
  // The fields are fixed and none is a credential; looking for one in each would cost seven times the line itself.
  const lines = log.child({}, { redact: [] });
  return (call, next) => {
    const started = startOf(call);
    const write = (end: Answer | Error): void => lines.info(lineOf(call, started, end), "call");
    const answer = next(call);
    answer.then(write, (thrown: unknown) => write(toGatewayError(thrown)));
    return answer;
  };
}

/** One look at the clock is enough for a call that was counted in a moment before. */
function startOf(call: Call): number {
  const { cancellation } = call;
  if (cancellation?.call === call && cancellation.started > 0) return cancellation.started;
  return performance.now();
}

function lineOf(call: Call, started: number, end: Answer | Error): CallLine {
  const { id, method, source, endpoint, server, name, principal } = call;
  const { outcome, code } = endOf(end);
  return {
    action: method,
    server,
    tool: name.includes("://") ? withoutSecrets(name) : name,
    duration_ms: Math.round((performance.now() - started) * 1_000) / 1_000,
    outcome,
    error_code: code,
    endpoint,
    source,
    principal: principal.ref,
    call: id,
  };
}

/** A resource's URI may carry a password or a signed query. */
function withoutSecrets(uri: string): string {
  return uri.replace(/:\/\/[^/?#]*@/, "://").replace(/[?#].*$/s, "");
}
