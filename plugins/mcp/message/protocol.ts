import type { GatewayError, Json } from "propylon";
import { toRpcError, WITHDRAWN } from "propylon/internal";

/** Revisions with `initialize`, newest first; the first is offered to clients that ask for one we do not know. */
export const LEGACY_CLIENT_VERSIONS: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

/** Stateless revisions. */
export const MODERN_VERSIONS: readonly string[] = ["2026-07-28"];

/** Versions from this one on are stateless. */
const FIRST_MODERN_VERSION = "2026-07-28";

/** Prefix of `_meta` keys that belong to the protocol. */
export const META_PREFIX = "io.modelcontextprotocol/";
export const META_VERSION = "io.modelcontextprotocol/protocolVersion";
export const META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const META_LOG_LEVEL = "io.modelcontextprotocol/logLevel";
export const META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
export const META_SERVER_INFO = "io.modelcontextprotocol/serverInfo";
/** Keys of `_meta` that 2026-07-28 defines and older revisions do not. */
export const MODERN_META: ReadonlySet<string> = new Set([
  META_VERSION,
  META_CAPABILITIES,
  META_LOG_LEVEL,
  META_SUBSCRIPTION,
  META_SERVER_INFO,
  `${META_PREFIX}clientInfo`,
]);

/** JSON-RPC and MCP error codes that this side of the gateway produces. */
export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
  /** Legacy era only; 2026-07-28 uses {@link RPC.invalidParams}. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** A refusal by the protocol itself, before any call: HTTP status and JSON-RPC error in one. */
export interface Fault {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** For a request that was under way when a reload took its endpoint away. */
const GONE: Fault = { status: 404, code: RPC.server, message: "This endpoint is gone." };

/** For what comes while the gateway shuts down. */
export const DRAINING: Fault = {
  status: 503,
  code: RPC.server,
  message: "The gateway is shutting down.",
  data: { code: "draining" },
};

/** For a request whose body, or whose session, took longer than the life of its credential. */
export const CREDENTIAL_GONE: Fault = {
  status: 401,
  code: RPC.server,
  message: WITHDRAWN,
  data: { code: "unauthorized" },
};

/** For a request that finds its endpoint closed: a client whose sessions are kept comes again after a restart. */
export function closedFault(draining: boolean): Fault {
  return draining ? DRAINING : GONE;
}

/** The refusal of a request by an error. */
export function toFault(error: GatewayError): Fault {
  return { status: error.status, ...toRpcError(error) };
}

/** Whether a protocol version belongs to the stateless era. Versions are dates, so they compare as text. */
export function isModernVersion(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= FIRST_MODERN_VERSION;
}
