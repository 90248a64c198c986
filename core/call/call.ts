import type {
  CallMethod,
  CallSource,
  Identity,
  Json,
  Peer,
  Principal,
  Progress,
  Tool,
} from "./types.ts";
import type { Answer } from "./answer.ts";
import type { Cancellation } from "./cancellation.ts";

/**
 * One request on its way through the pipeline. Immutable: a middleware that changes
 * something passes on a copy, `next(amendCall(call, { args }))`.
 *
 * @example const isWrite = (call: Call): boolean => call.tool?.annotations?.["readOnlyHint"] !== true;
 */
export interface Call {
  /** Unique within the process; appears in logs, metrics exemplars and history. */
  readonly id: string;
  readonly method: CallMethod;
  readonly source: CallSource;
  /** Name of the endpoint it came in on; `""` for calls made inside the process. */
  readonly endpoint: string;
  /** The server that owns the target: an upstream, or the plugin that registered it. */
  readonly server: string;
  /** Name of the tool or prompt at its own server, or the resource URI. */
  readonly name: string;
  /** The tool as listed, for `tools/call`. */
  readonly tool: Tool | undefined;
  /** `arguments` of a tool or prompt. */
  readonly args: Json | undefined;
  /** All other request parameters (`uri`, `ref`, `inputResponses`, `requestState` ...), without `name`, `arguments`, `_meta`. */
  readonly params: Json | undefined;
  /** The request's `_meta` without the keys the protocol owns (progressToken, io.modelcontextprotocol/*). */
  readonly meta: Json | undefined;
  readonly principal: Principal;
  /** Timeout the caller asked for, in milliseconds. */
  readonly timeout: number | undefined;
  /** Aborts when the caller went away, cancelled, or a stage's deadline passed. */
  readonly signal: AbortSignal;
  /** What {@link signal} belongs to, when a face of the gateway made the call; lets the core watch it without the real signal. */
  readonly cancellation?: Cancellation | undefined;
  /** Set only when the caller asked for progress. */
  readonly progress: ((progress: Progress) => void) | undefined;
  readonly peer: Peer;
}

/**
 * What a caller inside the process gives to `gateway.call`; everything else has a default.
 *
 * @example
 * const input: CallInput = { server: "search", name: "find", args: { query: "tea" }, timeout: 5_000 };
 * const answer = await gateway.call(input);
 */
export type CallInput = Pick<Call, "server" | "name"> &
  Partial<Omit<Call, "server" | "name" | "id" | "tool" | "principal">> & {
    /** Default: the gateway itself, with all roles. */
    readonly principal?: Identity | undefined;
  };

/**
 * The rest of the pipeline behind a middleware.
 *
 * @example const answer = async (call: Call, next: Next): Promise<Answer> => known.get(call.name) ?? next(call);
 */
export type Next = (call: Call) => Promise<Answer>;

/**
 * Decides about a call: passes it on, answers it itself, or throws a GatewayError.
 *
 * @example
 * const timed: Middleware = async (call, next) => {
 *   const start = performance.now();
 *   return next(call).finally(() => seconds.observe((performance.now() - start) / 1_000));
 * };
 */
export type Middleware = (call: Call, next: Next) => Promise<Answer>;
