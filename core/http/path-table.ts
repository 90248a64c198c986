import { addRoute, createRouter, findRoute } from "rou3";
import { type RegisteredRoute, type RegisteredSocket, ROUTE_METHODS } from "../plugin/route.ts";

/** Stands where a method stands, for a path that accepts WebSocket connections; no request can have it as its method. */
const SOCKET = "WEB SOCKET";

/** What a path leads to. */
export interface Match<T> {
  readonly found: T;
  /** Values of the path's parameters as they were sent; `undefined` for a path without any. */
  readonly params: Readonly<Record<string, string>> | undefined;
}

/** A route with the method that leads to it. */
export interface RouteMatch extends Match<RegisteredRoute> {
  readonly method: string;
}

/** Every path of a listener: routes by method, and WebSockets. Of two that match, the one with more written out wins. */
export class PathTable {
  readonly #table = createRouter<RegisteredRoute | RegisteredSocket>();

  constructor(routes: Iterable<RegisteredRoute>, sockets: Iterable<RegisteredSocket>) {
    for (const route of routes) addRoute(this.#table, route.method, route.path, route);
    for (const socket of sockets) addRoute(this.#table, SOCKET, socket.path, socket);
  }

  /** The route of a request; every GET route answers HEAD too. */
  route(method: string, path: string): Match<RegisteredRoute> | undefined {
    const match = this.#find<RegisteredRoute>(method, path);
    return match ?? (method === "HEAD" ? this.#find("GET", path) : undefined);
  }

  /** The WebSocket of a path, its parameters percent-decoded. */
  socket(path: string): Match<RegisteredSocket> | undefined {
    const match = this.#find<RegisteredSocket>(SOCKET, path);
    // A route takes a slash more or less at its end; a handshake is for the path as it is written.
    if (!match || match.found.path.endsWith("/") !== path.endsWith("/")) return undefined;
    try {
      const decoded = Object.entries(match.params ?? {}).map(
        ([name, value]) => [name, decodeURIComponent(value)] as const,
      );
      return { ...match, params: Object.fromEntries(decoded) };
    } catch {
      return undefined;
    }
  }

  /** The routes of a path, by the methods that it answers. */
  matchesAt(path: string): readonly RouteMatch[] {
    return ROUTE_METHODS.flatMap((method) => {
      const match = this.route(method, path);
      return match ? [{ ...match, method }] : [];
    });
  }

  #find<T>(method: string, path: string): Match<T> | undefined {
    const match = findRoute(this.#table, method, path);
    return match && { found: match.data as T, params: match.params };
  }
}
