import type { Call, CallInput } from "../call/call.ts";
import { randomUUID } from "node:crypto";
import { createPrincipal, makePrincipal } from "../kit/principal.ts";
import { addSignal, Cancellation } from "../kit/cancellation.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Catalogue, Server } from "../call/server.ts";
import { cleanTrace, withoutClaims } from "../call/trace.ts";
import { ROLES } from "../kit/roles.ts";
import type { Peer, Tool } from "../kit/types.ts";

/** Makes calls inside the process unless the caller says otherwise. */
const PROCESS = makePrincipal({ id: "gateway", kind: "service", roles: new Set(ROLES) }, "gateway");

/** A caller inside the process has nobody to ask. */
const NOBODY: Peer = {
  key: "",
  capabilities: {},
  ask: (method) => Promise.reject(new GatewayError("invalid", `Nobody here can answer ${method}.`)),
  tell: () => {},
};

const byName = new WeakMap<Catalogue, ReadonlyMap<string, Tool>>();

/** A server's tools by name; made once per catalogue. Of two with one name the first counts. */
export function toolsOf(catalogue: Catalogue): ReadonlyMap<string, Tool> {
  let tools = byName.get(catalogue);
  if (!tools) {
    tools = new Map(catalogue.tools.toReversed().map((tool) => [tool.name, tool]));
    byName.set(catalogue, tools);
  }
  return tools;
}

/** Fills in everything that a caller inside the process left out. */
export function completeCall(input: CallInput, servers: ReadonlyMap<string, Server>): Call {
  const method = input.method ?? "tools/call";
  const catalogue = method === "tools/call" ? servers.get(input.server)?.catalogue : undefined;
  const tool = catalogue && toolsOf(catalogue).get(input.name);
  const call = {
    source: "local" as const,
    endpoint: "",
    args: undefined,
    params: undefined,
    timeout: undefined,
    progress: undefined,
    peer: NOBODY,
    ...input,
    principal: input.principal ? createPrincipal(input.principal) : PROCESS,
    // The caller may have copied it from a request (W3C Trace Context: what is malformed is not passed on).
    meta: withoutClaims(cleanTrace(input.meta)),
    method,
    id: randomUUID(),
    tool,
  };
  // A call made on behalf of another shares its signal, but its own deadline must not end the other.
  if (call.signal) return { ...call, signal: call.signal, cancellation: undefined };
  return addSignal(Object.assign(call, { cancellation: call.cancellation ?? new Cancellation() }));
}
