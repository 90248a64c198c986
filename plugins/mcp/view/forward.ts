import type { CallMethod, Json, Principal } from "propylon";
import { isObject } from "propylon/kit";
import { withoutClaims } from "propylon/internal";
import type { Request } from "../message/client-message.ts";
import { type Fault, META_PREFIX, RPC } from "../message/protocol.ts";
import { absent } from "./absent.ts";
import type { View } from "./view.ts";
import type { Route } from "./view-draft.ts";

/** A request that goes to a server, taken apart. */
export interface Forward {
  readonly route: Route;
  readonly args: Json | undefined;
  /** Parameters other than `name`, `arguments`, `_meta`. */
  readonly params: Json | undefined;
}

/** A request with a method that travels to a server. */
export interface CallRequest extends Request {
  readonly method: CallMethod;
}

/** Whether a request is one that travels to a server. */
export function isCallRequest(request: Request): request is CallRequest {
  const { method } = request;
  return (
    method === "tools/call" ||
    method === "resources/read" ||
    method === "prompts/get" ||
    method === "completion/complete"
  );
}

/** Whether a request could not be taken apart. */
export function isFault(forward: Forward | Fault): forward is Fault {
  return "code" in forward;
}

/** Whether a fault says that nobody has what the request names; such a fault tells the name. */
export function isUnknown(fault: Fault): boolean {
  return fault.data !== undefined;
}

/** Finds where a request goes; a fault when it names nothing that is shown here. */
export function toForward(
  view: View,
  method: CallMethod,
  params: Json,
  principal?: Principal,
): Forward | Fault {
  if (method === "tools/call") return byName(view, "tool", params);
  if (method === "prompts/get") return byName(view, "prompt", params);
  return method === "resources/read"
    ? byUri(view, params, principal)
    : byReference(view, params, principal);
}

function byName(view: View, what: "tool" | "prompt", params: Json): Forward | Fault {
  const { name } = params;
  // The Go SDK writes a nil map of arguments as null.
  const args = params["arguments"] ?? undefined;
  if (typeof name !== "string") return invalid(`params.name must be the name of a ${what}.`);
  if (args !== undefined && !isObject(args)) return invalid("params.arguments must be an object.");
  const routes = what === "tool" ? view.tools : view.prompts;
  const route = routes.get(name) ?? view.prefixed(what, name);
  if (route === undefined) return absent(view, what, name);
  return { route, args, params: otherParams(params) };
}

function byUri(view: View, params: Json, principal?: Principal): Forward | Fault {
  const { uri } = params;
  if (typeof uri !== "string") return invalid("params.uri must be the URI of a resource.");
  const route = view.resource(uri, principal);
  if (route === undefined) return absent(view, "resource", uri);
  return { route, args: undefined, params: otherParams(params) };
}

function byReference(view: View, params: Json, principal?: Principal): Forward | Fault {
  const { ref } = params;
  if (!isObject(ref)) return invalid("params.ref must name a prompt or a resource template.");
  if (ref["type"] === "ref/prompt" && typeof ref["name"] === "string") {
    const route = view.prompts.get(ref["name"]) ?? view.prefixed("prompt", ref["name"]);
    if (route === undefined) return absent(view, "prompt", ref["name"]);
    return {
      route,
      args: undefined,
      params: { ...otherParams(params), ref: { ...ref, name: route.name } },
    };
  }
  if (ref["type"] !== "ref/resource" || typeof ref["uri"] !== "string")
    return invalid("params.ref is neither ref/prompt nor ref/resource.");
  const route = view.templates.owner(ref["uri"]) ?? view.resource(ref["uri"], principal);
  if (route === undefined) return absent(view, "resourceTemplate", ref["uri"]);
  const { server, name } = route;
  return {
    route: { server, name },
    args: undefined,
    params: { ...otherParams(params), ref: { ...ref, uri: name } },
  };
}

/**
 * Rest and spread define own properties, so that a `__proto__` key stays data. `task` stays here: the gateway does not
 * declare tasks (2025-11-25), and a server that made one would leave the client with a task it cannot ask for.
 */
function otherParams(params: Json): Json | undefined {
  for (const key in params) {
    if (key === "name" || key === "arguments" || key === "_meta" || key === "task") continue;
    const { name: _name, arguments: _arguments, _meta, task: _task, ...others } = params;
    return others;
  }
  return undefined;
}

/** `_meta` without what belongs to the protocol between the client and us. */
export function otherMeta(meta: unknown): Json | undefined {
  if (!isObject(meta)) return undefined;
  const others = Object.entries(meta).filter(
    ([key]) => key !== "progressToken" && !key.startsWith(META_PREFIX),
  );
  return others.length === 0 ? undefined : withoutClaims(Object.fromEntries(others));
}

/** A refusal of parameters, as an ordinary JSON-RPC answer. */
export function invalid(message: string, data?: Json): Fault {
  return data === undefined
    ? { status: 200, code: RPC.invalidParams, message }
    : { status: 200, code: RPC.invalidParams, message, data };
}

/** The refusal of answers to questions that are not a result object for each key; `undefined` for those that are. */
export function responsesFault(responses: unknown): Fault | undefined {
  return isObject(responses) && Object.values(responses).every(isObject)
    ? undefined
    : invalid("params.inputResponses must map each key to the result object of its request.");
}
