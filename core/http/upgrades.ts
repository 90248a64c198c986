import { defaultListener } from "./listeners.ts";
import type { IncomingMessage } from "node:http";
import type { Credentials } from "./auth/authentication.ts";
import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError } from "../errors.ts";
import type { Admission, SocketDoor } from "./app.ts";
import { credentialsOf } from "./edge.ts";
import { NOBODY, type Guard } from "./guard.ts";
import { type EndpointPlace, shapeOf } from "./route-table.ts";
import type { RegisteredSocket, Scope } from "../plugin/scope.ts";

/** WebSocket paths of one listener. */
export type SocketTable = ReadonlyMap<string, RegisteredSocket>;

/** How a browser sends a token, as it cannot set headers on a handshake: base64url of it in a subprotocol. */
const BEARER_PROTOCOL = /^bearer\.([\w-]+)$/;

/**
 * Sorts every plugin's WebSocket paths by listener; those of the management only while that is there.
 *
 * @throws {GatewayError} `invalid` for a path with anything but whole segments as parameters, without access policy, or on an
 * unknown listener; `exists` for a path that is taken
 */
export function assignSockets(
  config: GatewayConfig,
  scopes: readonly Scope[],
  endpoints: ReadonlyMap<string, EndpointPlace>,
): ReadonlyMap<string, SocketTable> {
  const tables = new Map(
    Object.keys(config.listeners).map((name) => [name, new Map<string, RegisteredSocket>()]),
  );
  const taken = new Set([...endpoints.values()].map(({ listener, path }) => `${listener} ${path}`));
  for (const socket of scopes.flatMap((scope) => scope.sockets)) {
    checkSocket(socket);
    if (socket.options.management && !config.management.enabled) continue;
    const name = socket.options.listener ?? defaultListener(config);
    const table = tables.get(name);
    if (!table) throw refusal(socket, `names an unknown listener "${name}"`);
    const place = `${name} ${shapeOf(socket.path)}`;
    if (taken.has(place))
      throw new GatewayError("exists", `${describe(socket)} is on a path that is taken.`);
    taken.add(place);
    table.set(socket.path, socket);
  }
  return tables;
}

/** Decides about WebSocket handshakes: the path byte for byte, then the policy of what is there. */
export function createDoor(sockets: SocketTable, guard: Guard): SocketDoor {
  return {
    has: ({ plugin, path }) => sockets.get(path)?.plugin === plugin,
    async admit(req): Promise<Admission> {
      const credentials = withToken(credentialsOf(req), req);
      const { found, params } = findSocket(sockets, credentials.path);
      const principal = await guard.identify(credentials, found.options);
      guard.permit(principal, found.options);
      const { plugin, path, accept } = found;
      return { plugin, path, principal: principal ?? NOBODY, accept, url: urlOf(req), params };
    },
  };
}

/** The socket of a path: the one that is written so, else the first with a parameter where it differs. */
function findSocket(
  sockets: SocketTable,
  path: string,
): { readonly found: RegisteredSocket; readonly params: Readonly<Record<string, string>> } {
  const plain = sockets.get(path);
  // A path may hold `:id` literally; it must not pass for the pattern.
  if (plain && !plain.path.includes("/:")) return { found: plain, params: {} };
  const segments = path.split("/");
  for (const found of sockets.values()) {
    const params = match(found.path.split("/"), segments);
    if (params) return { found, params };
  }
  throw new GatewayError("not_found", "Nothing here accepts WebSocket connections.");
}

/** Values of the parameters, percent-decoded; compared byte for byte everywhere else. */
function match(
  pattern: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: [string, string][] = [];
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index]!;
    if (!expected.startsWith(":")) {
      if (segment !== expected) return undefined;
      continue;
    }
    const value = decode(segment);
    if (value === undefined || value === "") return undefined;
    params.push([expected.slice(1), value]);
  }
  return Object.fromEntries(params);
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
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

/** Plugins may be plain JavaScript, so what the types demand is demanded here again. */
function checkSocket(socket: RegisteredSocket): void {
  const { path, options } = socket;
  if (!/^(?:\/(?:[^/:*?#]*|:\w+))+$/.test(path))
    throw refusal(socket, "has a path with more than plain segments and parameters");
  if (typeof options?.access !== "string") throw refusal(socket, "has no access policy");
  if (typeof options.mutates !== "boolean")
    throw refusal(socket, "does not say whether it changes anything");
}

function refusal(socket: RegisteredSocket, problem: string): GatewayError {
  return new GatewayError("invalid", `${describe(socket)} ${problem}.`);
}

function describe({ plugin, path }: RegisteredSocket): string {
  return `WebSocket ${path} of plugin "${plugin}"`;
}
