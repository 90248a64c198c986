import type { IncomingHttpHeaders } from "node:http";
import type { Json } from "propylon";
import { ExactNumber, isObject } from "propylon/kit";
import { type Era, declaresTasks, isInteger, type RpcError, type RpcId } from "propylon/internal";
import type { Fault } from "./protocol.ts";
import {
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
