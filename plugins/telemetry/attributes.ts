import { SpanKind, type Attributes } from "@opentelemetry/api";
import type { Answer, Call, ServerStatus } from "propylon";
import { outcomeOf } from "propylon/kit";

/** Maximum characters of arguments in a span. */
const MAX_ARGUMENTS = 4_096;
/** Names whose values are left out of arguments. */
const SECRET = /pass|pwd|secret|token|api[-_]?key|private[-_]?key|credential|authorization|cookie/i;

/** What a call is about. */
type Subject = Pick<Call, "method" | "name">;

/** What a span tells of a call. */
export type Described = Subject & Pick<Call, "id" | "source" | "endpoint" | "server">;

/** What a hop is told of its server. */
export type HopFacts = Pick<ServerStatus, "transport" | "protocolVersion">;

/**
 * `mcp.method.name`, with what it is about: the low-cardinality part, which metrics have too.
 * @param server the one that is asked; `""` to leave it out
 */
export function describeOperation({ method, name }: Subject, server = ""): Attributes {
  const attributes: Attributes = { "mcp.method.name": method };
  if (method === "tools/call") {
    attributes["gen_ai.operation.name"] = "execute_tool";
    attributes["gen_ai.tool.name"] = name;
  }
  if (method === "prompts/get") attributes["gen_ai.prompt.name"] = name;
  if (server !== "") attributes["propylon.server"] = server;
  return attributes;
}

/** Tells series of a histogram apart: those of calls that {@link describeOperation} and their failure describe alike have one key. */
export function seriesKey(call: Subject, server: string, failure: Attributes | undefined): string {
  return `${server}\n${failure ? String(failure["error.type"]) : ""}\n${spanNameOf(call)}`;
}

/** Name of a span: the method, and the tool or prompt; URIs have too many values for a name. */
export function spanNameOf({ method, name }: Subject): string {
  return method === "tools/call" || method === "prompts/get" ? `${method} ${name}` : method;
}

/** What else a span tells of a call: nothing that anybody wrote. */
export function describeCall(call: Described): Attributes {
  const { server, endpoint, source, method, name } = call;
  const attributes = describeOperation(call, server);
  attributes["propylon.call.id"] = call.id;
  attributes["propylon.call.source"] = source;
  if (endpoint !== "") attributes["propylon.endpoint"] = endpoint;
  if (method === "resources/read") attributes["mcp.resource.uri"] = withoutSecrets(name);
  return attributes;
}

/** What the hop of a call tells: the operation, and the transport and protocol version of the server that is called. */
export function describeHop(
  call: Subject & Pick<Call, "server">,
  { transport, protocolVersion }: HopFacts,
): Attributes {
  const attributes = describeOperation(call, call.server);
  attributes["network.transport"] = transport === "stdio" ? "pipe" : "tcp";
  if (protocolVersion !== undefined) attributes["mcp.protocol.version"] = protocolVersion;
  return attributes;
}

/** Calls of clients are served; others are steps of something that has a span: an agent, a task, a tool. */
export function kindOf({ source }: Call): SpanKind {
  return source === "mcp" || source === "http" ? SpanKind.SERVER : SpanKind.INTERNAL;
}

/** How a call failed, as `error.type` and the JSON-RPC code; `undefined` when it did not. No message: it may quote arguments. */
export function failureAttributes(end: Answer | Error): Attributes | undefined {
  const { transport, rpc, tool } = outcomeOf(end);
  if (transport !== "ok") return { "error.type": transport };
  if (rpc !== "ok") return { "error.type": String(rpc), "rpc.response.status_code": String(rpc) };
  return tool === "error" ? { "error.type": "tool_error" } : undefined;
}

/** Arguments as JSON, cut to a length, without the values of secret names. */
export function describeArguments({ args }: Call): Attributes {
  if (args === undefined) return {};
  const hide = (key: string, value: unknown): unknown => (SECRET.test(key) ? "[redacted]" : value);
  return { "gen_ai.tool.call.arguments": cut(JSON.stringify(args, hide), MAX_ARGUMENTS) };
}

/** A copy of the beginning: a part of a text keeps the whole of it, which may be megabytes, as long as the span waits. */
function cut(text: string, length: number): string {
  return text.length > length ? Buffer.from(text.slice(0, length)).toString() : text;
}

/** User information and query of a URI may be credentials. */
function withoutSecrets(uri: string): string {
  return uri.replace(/[?#].*$/s, "").replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, "$1");
}
