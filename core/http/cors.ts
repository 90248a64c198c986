import type { IncomingMessage, ServerResponse } from "node:http";
import { ROUTE_METHODS } from "../plugin/route.ts";

const METHODS = [...ROUTE_METHODS, "OPTIONS"].join(", ");
/** Headers a browser script may read: the session id, the challenge that starts a login, and when to come back. */
const EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After";
const PREFLIGHT_SECONDS = 600;

/** Lets the page of an allowed origin read the answer. */
export function allowOrigin(res: ServerResponse, origin: string): void {
  res.setHeader("access-control-allow-origin", origin);
  res.setHeader("access-control-expose-headers", EXPOSED);
  res.setHeader("vary", "Origin");
}

/** Whether a request only asks what a page may send (Fetch standard, CORS-preflight). */
export function isPreflight(req: IncomingMessage): boolean {
  return req.method === "OPTIONS" && req.headers["access-control-request-method"] !== undefined;
}

/** Answers a preflight of an allowed origin. Needs no credentials: browsers send none with it. */
export function sendPreflight(req: IncomingMessage, res: ServerResponse): void {
  const headers = req.headers["access-control-request-headers"];
  // Not "*": that would leave out Authorization.
  if (headers !== undefined) res.setHeader("access-control-allow-headers", headers);
  res.setHeader("access-control-allow-methods", METHODS);
  res.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
  res.writeHead(204);
  res.end();
}
