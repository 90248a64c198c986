import type { IncomingHttpHeaders } from "node:http";
import type { Json, Tool } from "propylon";
import { ExactNumber, isObject } from "propylon/kit";
import { type Era, declaresTasks, isInteger, type RpcError, type RpcId } from "propylon/internal";
import {
  type Fault,
  isModernVersion,
  META_CAPABILITIES,
  META_VERSION,
  MODERN_VERSIONS,
  RPC,
} from "./protocol.ts";

/** A JSON-RPC message after its shape was checked once. */
export type ClientMessage =
  | {
      readonly kind: "request";
      readonly id: RpcId;
      readonly method: string;
      readonly params: Json | undefined;
    }
  | { readonly kind: "notification"; readonly method: string; readonly params: Json | undefined }
  | {
      readonly kind: "response";
      readonly id: RpcId;
      readonly result?: Json;
      readonly error?: RpcError;
    };

/** A request; see {@link ClientMessage}. */
export type Request = Extract<ClientMessage, { kind: "request" }>;

/** An answer to what the gateway asked; see {@link ClientMessage}. */
export type ClientResponse = Extract<ClientMessage, { kind: "response" }>;

/** Reads one JSON-RPC 2.0 message; `undefined` when it is not one. Unknown members are ignored. */
export function readClientMessage(value: unknown): ClientMessage | undefined {
  if (!isObject(value) || value["jsonrpc"] !== "2.0") return undefined;
  const { id, method, params } = value;
  if (typeof method !== "string") return method === undefined ? readResponse(value) : undefined;
  if (params !== undefined && !isObject(params)) return undefined;
  if (id === undefined) return { kind: "notification", method, params };
  return isRpcId(id) ? { kind: "request", id, method, params } : undefined;
}

function readResponse({ id, result, error }: Json): ClientMessage | undefined {
  if (!isRpcId(id)) return undefined;
  if (error === undefined) return isObject(result) ? { kind: "response", id, result } : undefined;
  if (result !== undefined || !isObject(error)) return undefined;
  if (typeof error["code"] !== "number" || typeof error["message"] !== "string") return undefined;
  return {
    kind: "response",
    id,
    error: { code: error["code"], message: error["message"], data: error["data"] },
  };
}

/** Whether a value can be the id of a request: a text, or any whole number (MCP, `RequestId`). */
export function isRpcId(value: unknown): value is RpcId {
  return typeof value === "string" || Number.isSafeInteger(value) || isInteger(value);
}

/** Whether a message means the request with an id. */
export function isSameId(id: RpcId, meant: unknown): boolean {
  if (id === meant) return true;
  return id instanceof ExactNumber && meant instanceof ExactNumber && id.text === meant.text;
}

/** The id to answer a broken message with: its own if it can be read, else null (JSON-RPC 2.0 section 5). */
export function readableId(value: unknown): RpcId | null {
  return isObject(value) && typeof value["method"] === "string" && isRpcId(value["id"])
    ? value["id"]
    : null;
}

/**
 * Tells the era of a message: the body decides (`_meta` names a protocol version), the headers must agree (2026-07-28,
 * Streamable HTTP). A message that claims nothing is legacy.
 */
export function classify(message: ClientMessage, headers: IncomingHttpHeaders): Era | Fault {
  if (message.kind === "response") return "legacy";
  const version = headerValue(headers["mcp-protocol-version"]);
  const meta = message.params?.["_meta"];
  const claim = isObject(meta) && META_VERSION in meta ? meta[META_VERSION] : undefined;
  if (claim === undefined) {
    if (version === undefined || !isModernVersion(version)) return "legacy";
    return message.kind === "notification"
      ? "modern"
      : missingEnvelope(message.method, version, meta);
  }
  // A legacy client may carry stray keys into initialize; only a valid modern claim outranks the method.
  if (message.method === "initialize" && !(typeof claim === "string" && isModernVersion(claim)))
    return "legacy";
  return checkClaim(claim, meta as Json, message, version) ?? "modern";
}

/** Whether a request of a stateless client says that it knows tasks. */
export function knowsTasks(params: Json | undefined): boolean {
  const meta = params?.["_meta"];
  const capabilities = isObject(meta) ? meta[META_CAPABILITIES] : undefined;
  return isObject(capabilities) && "extensions" in capabilities && declaresTasks(capabilities);
}

function missingEnvelope(method: string, version: string, meta: unknown): Fault {
  if (method === "initialize") {
    return mismatch(
      version,
      "the handshake of older revisions came with the MCP-Protocol-Version header of a newer one",
    );
  }
  const keys = isObject(meta)
    ? [META_VERSION, META_CAPABILITIES].filter((key) => !(key in meta))
    : ["_meta"];
  return {
    status: 400,
    code: RPC.invalidParams,
    message: `Revision ${version} requires ${keys.join(" and ")} in every request.`,
    data: { envelope: { missing: keys } },
  };
}

function checkClaim(
  claim: unknown,
  meta: Json,
  message: Exclude<ClientMessage, { kind: "response" }>,
  version: string | undefined,
) {
  if (typeof claim !== "string") return invalidEnvelope(META_VERSION, "must be a string");
  if (message.kind === "request" && !isObject(meta[META_CAPABILITIES])) {
    return invalidEnvelope(
      META_CAPABILITIES,
      META_CAPABILITIES in meta ? "must be an object" : "is missing",
    );
  }
  if (version !== undefined && version !== claim) {
    return mismatch(
      version,
      `the body names protocol version ${claim}, the MCP-Protocol-Version header ${version}`,
    );
  }
  if (!MODERN_VERSIONS.includes(claim)) return unsupportedVersion(claim);
  return undefined;
}

function invalidEnvelope(key: string, problem: string): Fault {
  return {
    status: 400,
    code: RPC.invalidParams,
    message: `_meta: ${key} ${problem}.`,
    data: { envelope: { key, problem } },
  };
}

/** The refusal of a protocol version we do not serve. */
export function unsupportedVersion(requested: string): Fault {
  return {
    status: 400,
    code: RPC.unsupportedVersion,
    message: `Protocol version ${requested.slice(0, 64)} is not supported.`,
    data: { supported: [...MODERN_VERSIONS], requested },
  };
}

/** The refusal of headers that say something else than the body (2026-07-28: HTTP 400, -32020). */
export function mismatch(header: string, sentence: string): Fault {
  return {
    status: 400,
    code: RPC.headerMismatch,
    message: `Headers and body disagree: ${sentence}.`,
    data: { mismatch: { header } },
  };
}

/** A single header value without surrounding blanks; `undefined` when the header is absent. */
export function headerValue(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ").trim() : value?.trim();
}

/** Which parameter `Mcp-Name` repeats, by method (2026-07-28, standard request headers). */
const NAME_SOURCE: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  // SEP-2663, "Streamable HTTP: Routing Headers".
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** One tool argument that must be repeated as a header (`x-mcp-header` in the tool's schema). */
export interface ParamHeader {
  readonly path: readonly string[];
  /** Lower case, with the `mcp-param-` prefix. */
  readonly header: string;
  readonly numeric: boolean;
}

/**
 * Checks that the standard headers of a 2026-07-28 request say what its body says. The body alone decides what happens;
 * an intermediary that decided by the headers must not be misled.
 */
export function checkStandardHeaders(
  request: Request,
  headers: IncomingHttpHeaders,
): Fault | undefined {
  if (headers["mcp-protocol-version"] === undefined) return missing("MCP-Protocol-Version");
  const method = headerValue(headers["mcp-method"]);
  if (method === undefined) return missing("Mcp-Method");
  if (method !== request.method)
    return mismatch("Mcp-Method", "Mcp-Method names another method than the body");
  const source = NAME_SOURCE.get(request.method);
  const expected = source === undefined ? undefined : request.params?.[source];
  if (typeof expected !== "string") return undefined;
  const name = headerValue(headers["mcp-name"]);
  if (name === undefined) return missing("Mcp-Name");
  const decoded = decodeHeader(name);
  if (decoded === undefined) return mismatch("Mcp-Name", "Mcp-Name is not valid Base64");
  return decoded === expected
    ? undefined
    : mismatch("Mcp-Name", `Mcp-Name is not the body's params.${source}`);
}

/** Checks the `Mcp-Param-*` headers of a tool call against its arguments. */
export function checkParamHeaders(
  declared: readonly ParamHeader[],
  args: Json | undefined,
  headers: IncomingHttpHeaders,
): Fault | undefined {
  for (const { path, header, numeric } of declared) {
    const value = valueAt(args, path);
    const expected = primitiveText(value);
    if (expected === undefined) continue;
    const given = headerValue(headers[header]);
    if (given === undefined) return missing(header);
    const decoded = decodeHeader(given);
    if (decoded === undefined) return mismatch(header, `${header} is not valid Base64`);
    const same =
      decoded === expected ||
      (numeric && /^-?\d+(\.\d+)?$/.test(decoded) && Number(decoded) === value);
    if (!same) return mismatch(header, `${header} is not the body's argument ${path.join(".")}`);
  }
  return undefined;
}

const declarations = new WeakMap<Tool, readonly ParamHeader[]>();

/** The arguments of a tool that must come as headers too; found once per tool. */
export function paramHeaders(tool: Tool): readonly ParamHeader[] {
  let found = declarations.get(tool);
  if (found === undefined) {
    found = findParamHeaders(tool.inputSchema, []);
    declarations.set(tool, found);
  }
  return found;
}

/** Only properties reachable through `properties` count; deeper than 16 levels nobody declares headers. */
function findParamHeaders(schema: unknown, path: readonly string[]): ParamHeader[] {
  if (!isObject(schema) || path.length > 16) return [];
  const name = schema["x-mcp-header"];
  const own =
    typeof name === "string" && path.length > 0 ? [toParamHeader(name, path, schema["type"])] : [];
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return [...own, ...properties.flatMap(([key, child]) => findParamHeaders(child, [...path, key]))];
}

function toParamHeader(name: string, path: readonly string[], type: unknown): ParamHeader {
  return {
    path,
    header: `mcp-param-${name.toLowerCase()}`,
    numeric: type === "integer" || type === "number",
  };
}

function missing(header: string): Fault {
  return mismatch(header, `the ${header} header is missing`);
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let node = root;
  for (const key of path) {
    if (!isObject(node) || !Object.hasOwn(node, key)) return undefined;
    node = node[key];
  }
  return node;
}

/** How a primitive is written in a header; `undefined` for what cannot be (objects, unsafe integers). */
function primitiveText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Undoes `=?base64?...?=`; other values stand for themselves. `undefined` when the Base64 or its UTF-8 is broken. */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith("=?base64?") || !value.endsWith("?=")) return value;
  const encoded = value.slice(9, -2);
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64"));
  } catch {
    return undefined;
  }
}
