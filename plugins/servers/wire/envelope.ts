import type { Call, Json, Tool } from "propylon";
import { amendCall, ExactNumber, isObject, writeJson } from "propylon/kit";
import {
  cleanMeta,
  HEADER_NAME,
  withoutReserved,
  withoutTasks,
  withTasks,
  traceHeaders,
} from "propylon/internal";
import type { Dialect } from "./wire.ts";

/** `name` and `version` of the gateway as a client. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Who asks, and in which dialect; `undefined` before an agreement. */
export interface Sender {
  readonly dialect: Dialect | undefined;
  readonly clientInfo: ClientInfo;
  /** Whether the server may answer calls of tools with tasks (SEP-2663). */
  readonly takesTasks: boolean;
  /** Whether it makes tasks of calls that ask for it (2025-11-25). */
  readonly makesTasks: boolean;
}

/** Whether a call is of a tool that can only be called as a task (2025-11-25, Tool-Level Negotiation). */
export function needsTask({ method, tool }: Call): boolean {
  if (method !== "tools/call" || tool?.["execution"] === undefined) return false;
  return isObject(tool["execution"]) && tool["execution"]["taskSupport"] === "required";
}

/** Key of `_meta` that tells a server who calls; the header of that name is {@link IDENTITY_HEADER}. */
const IDENTITY_META = "propylon/identity";
export const IDENTITY_HEADER = "propylon-identity";

const IDENTITY: unique symbol = Symbol("identity");

/** Under a symbol, so that nothing a client or a plugin writes into `_meta` can pass for one. */
type Identified = Call & { readonly [IDENTITY]?: string };

/** A call that tells its server who makes it. */
export function withIdentity(call: Call, assertion: string): Call {
  return Object.assign(amendCall(call, {}), { [IDENTITY]: assertion });
}

/** The assertion that goes out with a call, if one does. */
export function identityOf(call: Identified | undefined): string | undefined {
  return call?.[IDENTITY];
}

/** Headers that one call has, name and value in turn: its trace, and who makes it where the server is told. */
export function callHeaders(call: Call | undefined): readonly string[] | undefined {
  const trace = traceHeaders(call?.meta);
  const identity = identityOf(call);
  return identity === undefined ? trace : [...(trace ?? []), IDENTITY_HEADER, identity];
}

/** From this length on a text is looked at before `JSON.stringify` does, which reads it character by character. */
const LONG = 1_024;
/** What JSON writes as an escape in ASCII: a quote, a backslash, and control characters. */
const ESCAPED = ['"', "\\", ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code))];

/** As JSON; a long text such as a file in base64 goes in as it is, after a search for each character that would need an escape. */
function writeArguments(args: Json): string {
  if (!Object.values(args).some(isLong)) return writeJson(args);
  const members: string[] = [];
  for (const [name, value] of Object.entries(args)) {
    // JSON has no word for `undefined` and functions, which code may hand over.
    const text = (isPlain(value) ? `"${value}"` : writeJson(value)) as string | undefined;
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length >= LONG;
}

function isPlain(value: unknown): value is string {
  if (!isLong(value) || ESCAPED.some((character) => value.includes(character))) return false;
  return Buffer.byteLength(value) === value.length;
}

/** The serialised request of a client's call. Its arguments go out as they were checked: one object, one `writeJson`. */
export function encodeCall(
  sender: Sender,
  id: string,
  call: Call,
  token: string | undefined,
): string {
  const { method, name, args } = call;
  const asked = paramsOf(call);
  const params = sender.makesTasks && needsTask(call) ? { ...asked, task: {} } : asked;
  const meta = requestMeta(sender, method, call, token);
  const own = meta === undefined ? undefined : { _meta: meta };
  if (method === "resources/read") return encode(id, method, { ...params, uri: name, ...own });
  if (method === "completion/complete") return encode(id, method, { ...params, ...own });
  // The usual call. As text around the parts that vary it costs half of what one JSON.stringify of the whole does.
  if (args && params === undefined) {
    const behind = meta === undefined ? "" : `,"_meta":${writeMeta(meta)}`;
    return `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":{"name":${JSON.stringify(name)},"arguments":${writeArguments(args)}${behind}}}`;
  }
  return encode(
    id,
    method,
    args ? { name, arguments: args, ...params, ...own } : { name, ...params, ...own },
  );
}

/** What JSON writes as it is. */
const PLAIN = /^[\w-]+$/;

/** As JSON. A traced call often has its `traceparent` and nothing else, whose text costs a twentieth of `JSON.stringify`. */
function writeMeta(meta: Json): string {
  const { traceparent } = meta;
  const isAlone = typeof traceparent === "string" && Object.keys(meta).length === 1;
  return isAlone && PLAIN.test(traceparent) ? `{"traceparent":"${traceparent}"}` : writeJson(meta);
}

/** A request of the gateway's own, perhaps on behalf of a call. */
export function encodeOwn(
  sender: Sender,
  id: string,
  method: string,
  params: Json | undefined,
  call?: Call,
): string {
  const meta = requestMeta(sender, method, call, undefined);
  return encode(id, method, meta === undefined ? params : { ...params, _meta: meta });
}

function encode(id: string, method: string, params: Json | undefined): string {
  return writeJson({ jsonrpc: "2.0", id, method, params });
}

/** The modern era repeats on every request what `initialize` said once; the capabilities are those of the caller. */
function requestMeta(
  { dialect, clientInfo, takesTasks }: Sender,
  method: string,
  call: Call | undefined,
  progressToken: string | undefined,
): Json | undefined {
  const meta = metaOf(call);
  if (dialect?.era !== "modern")
    return progressToken === undefined ? meta : { ...meta, progressToken };
  const modern: Json = {
    ...meta,
    "io.modelcontextprotocol/protocolVersion": dialect.version,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": call
      ? capabilitiesOf(call, takesTasks && TASK_METHODS.has(method))
      : {},
  };
  if (progressToken !== undefined) modern["progressToken"] = progressToken;
  if (call?.peer.logLevel !== undefined)
    modern["io.modelcontextprotocol/logLevel"] = call.peer.logLevel;
  return modern;
}

/** Requests that have to do with tasks. */
const TASK_METHODS: ReadonlySet<string> = new Set([
  "tools/call",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

/** Those of the client, except for tasks: it is the gateway that waits for the server's, whatever its client knows. */
function capabilitiesOf({ peer: { capabilities } }: Call, takesTasks: boolean): Json {
  if (takesTasks) return withTasks(capabilities);
  return capabilities["extensions"] === undefined ? capabilities : withoutTasks(capabilities);
}

/** What goes to the server of a caller's `_meta`, and who the caller is where the server is told. */
function metaOf(call: Call | undefined): Json | undefined {
  const meta = withoutReserved(call?.meta);
  const identity = identityOf(call);
  return identity === undefined ? meta : { ...meta, [IDENTITY_META]: identity };
}

/** The client's answers to what the server asked are its own words, and may claim as little. */
function paramsOf({ params }: Call): Json | undefined {
  const responses = params?.["inputResponses"];
  if (!isObject(responses)) return params;
  const clean = Object.entries(responses).map(([key, each]) => [
    key,
    isObject(each) ? cleanMeta(each) : each,
  ]);
  return { ...params, inputResponses: Object.fromEntries(clean) as Json };
}

/** One argument that a server wants to see in a header too. */
export interface Mirror {
  /** Property names from the arguments inward. */
  readonly path: readonly string[];
  /** Header name, `Mcp-Param-` included. */
  readonly header: string;
}

/** The mirrors of the tools that have any, by tool name. */
export type Mirrors = ReadonlyMap<string, readonly Mirror[]>;

const KEY = "x-mcp-header";
const TYPES = new Set<unknown>(["string", "integer", "boolean"]);

/** Keywords under which a subschema is not reached by property names alone. */
const BRANCHES = [
  "items", "prefixItems", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
  "oneOf", "anyOf", "allOf", "not", "if", "then", "else",
]; // prettier-ignore
/** The same, holding a map of subschemas. */
const BRANCH_MAPS = ["patternProperties", "dependentSchemas", "$defs", "definitions"];

/**
 * Splits a list of tools into those a client may use and what to mirror for them (MCP 2026-07-28, Streamable HTTP, "Custom
 * Headers from Tool Parameters": tools with an invalid `x-mcp-header` are left out, the others stay).
 *
 * @returns the usable tools, their mirrors, and for each refused tool its name and why
 */
export function readMirrors(tools: readonly Tool[]): {
  tools: readonly Tool[];
  mirrors: Mirrors;
  refused: ReadonlyMap<string, string>;
} {
  const mirrors = new Map<string, readonly Mirror[]>();
  const refused = new Map<string, string>();
  for (const tool of tools) {
    const reading = new SchemaReading();
    reading.visit(tool.inputSchema, [], true);
    if (reading.fault) refused.set(tool.name, reading.fault);
    else if (reading.mirrors.length > 0) mirrors.set(tool.name, reading.mirrors);
  }
  return {
    tools: refused.size === 0 ? tools : tools.filter((tool) => !refused.has(tool.name)),
    mirrors,
    refused,
  };
}

class SchemaReading {
  readonly mirrors: Mirror[] = [];
  fault: string | undefined;
  readonly #names = new Set<string>();

  visit(schema: unknown, path: readonly string[], reachable: boolean): void {
    if (this.fault || !isObject(schema)) return;
    if (KEY in schema) this.#declare(schema, path, reachable);
    const { properties } = schema;
    if (isObject(properties))
      for (const [key, child] of Object.entries(properties))
        this.visit(child, [...path, key], reachable);
    for (const keyword of BRANCHES)
      for (const child of [schema[keyword]].flat()) this.visit(child, path, false);
    for (const keyword of BRANCH_MAPS) {
      const map = schema[keyword];
      if (isObject(map)) for (const child of Object.values(map)) this.visit(child, path, false);
    }
  }

  #declare(schema: Json, path: readonly string[], reachable: boolean): void {
    const name = schema[KEY];
    const place = path.join(".") || "the schema itself";
    if (!reachable || path.length === 0)
      this.fault = `${KEY} at ${place} is not on a plain property`;
    else if (typeof name !== "string" || !HEADER_NAME.test(name))
      this.fault = `${KEY} at ${place} is not a header name`;
    else if (!TYPES.has(schema["type"]))
      this.fault = `${KEY} at ${place} is on a type other than string, integer and boolean`;
    else if (this.#names.has(name.toLowerCase())) this.fault = `${KEY} "${name}" is used twice`;
    else {
      this.#names.add(name.toLowerCase());
      this.mirrors.push({ path, header: `Mcp-Param-${name}` });
    }
  }
}

/** Headers for one call, name and value in turn. Arguments that are absent or null have none. */
export function mirrorArguments(mirrors: readonly Mirror[], args: Json | undefined): string[] {
  const headers: string[] = [];
  for (const { path, header } of mirrors) {
    const value = toHeaderText(
      path.reduce<unknown>(
        (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
        args,
      ),
    );
    if (value !== undefined) headers.push(header, encodeHeader(value));
  }
  return headers;
}

/** A text as header value: itself when it is plain ASCII without outer white space, else base64 between `=?base64?` and `?=`. */
export function encodeHeader(value: string): string {
  const plain =
    /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return plain ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

function toHeaderText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || value instanceof ExactNumber) return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
