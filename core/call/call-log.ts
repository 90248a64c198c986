import type { Call, Middleware } from "./call.ts";
import type { Logger } from "pino";
import { Answer } from "./answer.ts";
import { toGatewayError } from "../errors.ts";
import { endOf, type CallOutcome } from "./outcome.ts";

/** The fields of a call's line in the log: those that every log of a call has (`ts` and `level` are the logger's) and who, where, which. */
export interface CallLine {
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
    const started = performance.now();
    const write = (end: Answer | Error): void => lines.info(lineOf(call, started, end), "call");
    const answer = next(call);
    answer.then(write, (thrown: unknown) => write(toGatewayError(thrown)));
    return answer;
  };
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
