import type { IncomingMessage } from "node:http";
import type { Credentials } from "../plugin/authentication.ts";
import { GatewayError } from "../kit/errors.ts";
import { credentialsOf, NOBODY, type Guard } from "./guard.ts";
import type { PathTable } from "./path-table.ts";
import type { SocketDoor } from "./websocket/websockets.ts";

/** How a browser sends a token, as it cannot set headers on a handshake: base64url of it in a subprotocol. */
const BEARER_PROTOCOL = /^bearer\.([\w-]+)$/;

/** Decides about WebSocket handshakes: the path byte for byte, then the policy of what is there. */
export function admission(table: PathTable, guard: Guard): SocketDoor["admit"] {
  return async (req) => {
    const credentials = withToken(credentialsOf(req), req);
    const match = table.socket(credentials.path);
    if (!match) throw new GatewayError("not_found", "Nothing here accepts WebSocket connections.");
    const { plugin, path, accept, options } = match.found;
    const known = await guard.identify(credentials, options, match.found.path);
    guard.permit(known, options, credentials.path);
    const principal = known ?? NOBODY;
    return { plugin, path, principal, accept, url: urlOf(req), params: match.params ?? {} };
  };
}

/** A header beats the subprotocol: a browser can send only the latter. */
function withToken(credentials: Credentials, req: IncomingMessage): Credentials {
  const authorization = req.headers.authorization ?? bearerOf(req);
  if (authorization === undefined) return credentials;
  return { ...credentials, headers: { ...credentials.headers, authorization } };
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  const offered = headers["sec-websocket-protocol"]?.split(",") ?? [];
  const token = offered.map((name) => BEARER_PROTOCOL.exec(name.trim())?.[1]).find(Boolean);
  return token && `Bearer ${Buffer.from(token, "base64url").toString()}`;
}

/** The Host header in it was checked before; behind a proxy that ends TLS it says http. */
function urlOf({ url, headers }: IncomingMessage): URL {
  return new URL(`http://${headers.host}${url}`);
}
