import type { GatewayConfig } from "../config/schema.ts";
import { GatewayError } from "../kit/errors.ts";
import { ROLES } from "../kit/roles.ts";
import {
  type Access,
  type RegisteredRoute,
  type RegisteredSocket,
  ROUTE_METHODS,
  type RouteOptions,
  type WebSocketOptions,
} from "../plugin/route.ts";

const ACCESS: readonly Access[] = ["public", "principal", ...ROLES];

/** Where an endpoint of the gateway is. */
export interface EndpointPlace {
  readonly listener: string;
  readonly path: string;
}

/** WebSocket paths of one listener. */
export type SocketTable = ReadonlyMap<string, RegisteredSocket>;

/**
 * Sorts every plugin's routes by listener. Without a management API its routes are not there at all.
 *
 * @throws {GatewayError} `invalid` for a route without access policy or `mutates` flag, with an unknown method, path or
 * listener; `exists` for two routes that match the same requests, or a route on the path of an MCP endpoint
 */
export function assignRoutes(
  config: GatewayConfig,
  scopes: readonly { readonly routes: readonly RegisteredRoute[] }[],
  endpoints: ReadonlyMap<string, EndpointPlace>,
): ReadonlyMap<string, readonly RegisteredRoute[]> {
  const tables = perListener(config, () => [] as RegisteredRoute[]);
  const owners = new Map<string, string>(
    [...endpoints].map(([name, { listener, path }]) => [
      `${listener} ${path}`,
      `endpoint "${name}"`,
    ]),
  );
  for (const route of scopes.flatMap((scope) => scope.routes)) {
    const what = `Route ${route.method} ${route.path} of plugin "${route.plugin}"`;
    checkRoute(route, what);
    const listener = listenerOf(config, route.options, what);
    if (listener === undefined) continue;
    const shape = `${listener} ${route.method} ${shapeOf(route.path)}`;
    const other = owners.get(`${listener} ${route.path}`) ?? owners.get(shape);
    if (other !== undefined)
      throw new GatewayError("exists", `${what} collides with ${other} on listener "${listener}".`);
    owners.set(shape, `r${what.slice(1)}`);
    tables.get(listener)!.push(route);
  }
  return tables;
}

/**
 * Sorts every plugin's WebSocket paths by listener; those of the management only while that is there.
 *
 * @throws {GatewayError} `invalid` for a path with anything but whole segments as parameters, without access policy, or on an
 * unknown listener; `exists` for a path that is taken
 */
export function assignSockets(
  config: GatewayConfig,
  scopes: readonly { readonly sockets: readonly RegisteredSocket[] }[],
  endpoints: ReadonlyMap<string, EndpointPlace>,
): ReadonlyMap<string, SocketTable> {
  const tables = perListener(config, () => new Map<string, RegisteredSocket>());
  const taken = new Set([...endpoints.values()].map(({ listener, path }) => `${listener} ${path}`));
  for (const socket of scopes.flatMap((scope) => scope.sockets)) {
    const what = `WebSocket ${socket.path} of plugin "${socket.plugin}"`;
    checkSocket(socket, what);
    const listener = listenerOf(config, socket.options, what);
    if (listener === undefined) continue;
    const place = `${listener} ${shapeOf(socket.path)}`;
    if (taken.has(place)) throw new GatewayError("exists", `${what} is on a path that is taken.`);
    taken.add(place);
    tables.get(listener)!.set(socket.path, socket);
  }
  return tables;
}

function perListener<T>({ listeners }: GatewayConfig, make: () => T): ReadonlyMap<string, T> {
  return new Map(Object.keys(listeners).map((name) => [name, make()]));
}

/** Where something is served; `undefined`: nowhere, because it belongs to a management that is switched off. */
function listenerOf(
  config: GatewayConfig,
  { listener = defaultListener(config), management }: RouteOptions | WebSocketOptions,
  what: string,
): string | undefined {
  if (management === true && !config.management.enabled) return undefined;
  if (Object.hasOwn(config.listeners, listener)) return listener;
  throw new GatewayError("invalid", `${what} names an unknown listener "${listener}".`, {
    hint: `Listeners: ${Object.keys(config.listeners).join(", ")}.`,
  });
}

/** The listener a route or endpoint without one belongs to: the first. */
export function defaultListener({ listeners }: GatewayConfig): string {
  const [first] = Object.keys(listeners);
  if (first === undefined)
    throw new GatewayError("invalid", "The config has no listener.", {
      hint: "Remove `listeners` to get the default.",
    });
  return first;
}

/** A path with the names of its parameters left out: `/a/:x` and `/a/:y` match the same requests. */
function shapeOf(path: string): string {
  const segments = path.split("/").map((segment) =>
    segment.startsWith("**")
      ? "**"
      : segment.startsWith(":") || segment === "*"
        ? ":"
        : // A colon inside a segment is escaped for the router: it would begin a parameter.
          segment.replaceAll("\\:", ":"),
  );
  return segments.join("/").replace(/(?<=.)\/$/, "");
}

/** The route of a method and a path, whatever its parameters are called. */
export function findRoute(
  routes: readonly RegisteredRoute[] = [],
  method: RegisteredRoute["method"],
  path: string,
): RegisteredRoute | undefined {
  const shape = shapeOf(path);
  return routes.find((route) => route.method === method && shapeOf(route.path) === shape);
}

/** Plugins may be plain JavaScript, so what the types demand is demanded here again. */
function checkRoute({ path, method, options }: RegisteredRoute, what: string): void {
  if (!path.startsWith("/"))
    throw refusal(what, "has a path that does not start with a slash", `Write "/${path}".`);
  if (!ROUTE_METHODS.includes(method))
    throw refusal(what, "has an unknown method", `Methods: ${ROUTE_METHODS.join(", ")}.`);
  checkPolicy(options, what);
}

function checkSocket({ path, options }: RegisteredSocket, what: string): void {
  // Nothing that has a meaning in the table of paths but a parameter.
  if (!/^(?:\/(?:[^/:*?#(){}\\]*|:\w+))+$/.test(path))
    throw refusal(
      what,
      "has a path with more than plain segments and parameters",
      "Write a path such as /rooms/:room.",
    );
  checkPolicy(options, what);
}

function checkPolicy(options: RouteOptions | WebSocketOptions | undefined, what: string): void {
  if (!options || !ACCESS.includes(options.access))
    throw refusal(what, "has no access policy", `Set access to one of ${ACCESS.join(", ")}.`);
  if (typeof options.mutates !== "boolean")
    throw refusal(
      what,
      "does not say whether it changes anything",
      "Set mutates to true or false.",
    );
  for (const flag of ["management", "websocket"] as const)
    if (!["undefined", "boolean"].includes(typeof options[flag]))
      throw refusal(
        what,
        `has an unclear ${flag} flag`,
        `Set ${flag} to true or false, or leave it out.`,
      );
}

function refusal(what: string, problem: string, hint: string): GatewayError {
  return new GatewayError("invalid", `${what} ${problem}.`, { hint });
}
