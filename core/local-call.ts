import { randomUUID } from "node:crypto";
import { GatewayError } from "./errors.ts";
import type { Provider } from "./provider.ts";
import type { Call, CallInput, Peer, Principal, Role } from "./types.ts";

const ROLES: ReadonlySet<Role> = new Set(["viewer", "caller", "operator", "admin", "service"]);

/** Makes calls inside the process unless the caller says otherwise. */
const PROCESS: Principal = { id: "gateway", kind: "service", roles: ROLES };

/** A caller inside the process has nobody to ask. */
const NOBODY: Peer = {
  key: "",
  capabilities: {},
  ask: (method) => Promise.reject(new GatewayError("invalid", `Nobody here can answer ${method}.`)),
  tell: () => {},
};

/** Fills in everything that a caller inside the process left out. */
export function completeCall(input: CallInput, servers: ReadonlyMap<string, Provider>): Call {
  const method = input.method ?? "tools/call";
  const tool =
    method === "tools/call"
      ? servers.get(input.server)?.catalogue.tools.find(({ name }) => name === input.name)
      : undefined;
  return {
    source: "local",
    endpoint: "",
    args: undefined,
    params: undefined,
    meta: undefined,
    principal: PROCESS,
    timeout: undefined,
    signal: new AbortController().signal,
    progress: undefined,
    peer: NOBODY,
    ...input,
    method,
    id: randomUUID(),
    tool,
  };
}
