import type {
  CallMethod,
  CallSource,
  Identity,
  Json,
  Peer,
  Principal,
  Progress,
  Tool,
} from "../kit/types.ts";
import type { Answer } from "./answer.ts";
import { type Cancellation, addSignal } from "../kit/cancellation.ts";
import { createPrincipal } from "../kit/principal.ts";

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

/**
 * A copy of a call with some members changed, for what a middleware passes on. A spread would do the same, but reads the lazy
 * `signal` and so makes a real AbortSignal, which costs more than the rest of the call.
 *
 * @example gateway.use("validate", (call, next) => next(amendCall(call, { args: withDefaults(call.args) })));
 */
export function amendCall(call: Call, members: Partial<Call>): Call {
  // By name: copying property descriptors costs several times as much.
  const copy: Required<Omit<Call, "signal">> = {
    id: call.id,
    method: call.method,
    source: call.source,
    endpoint: call.endpoint,
    server: call.server,
    name: call.name,
    tool: call.tool,
    args: call.args,
    params: call.params,
    meta: call.meta,
    principal: call.principal,
    timeout: call.timeout,
    cancellation: call.cancellation,
    progress: call.progress,
    peer: call.peer,
    ...members,
    // A changed copy of a principal would keep the ref of the one it was made from.
    ...(members.principal && { principal: createPrincipal(members.principal) }),
  };
  if (members.signal) return copy as Call;
  const isLazy = Object.getOwnPropertyDescriptor(call, "signal")?.get !== undefined;
  if (isLazy && hasCancellation(copy)) return addSignal(copy);
  return Object.assign(copy, { signal: call.signal });
}

function hasCancellation<T extends Pick<Call, "cancellation">>(
  call: T,
): call is T & { readonly cancellation: Cancellation } {
  return call.cancellation !== undefined;
}
