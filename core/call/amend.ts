import type { Call } from "./call.ts";
import { createPrincipal } from "../http/auth/principal.ts";
import { addSignal, type Cancellation } from "./cancellation.ts";

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
