import type { IncomingMessage, RequestListener, Server, ServerOptions } from "node:http";
import type { Logger } from "pino";
import type { Mutation } from "../plugin/hooks.ts";
import type { Check, Fact } from "../plugin/plugin-checks.ts";
import type {
  RegisteredRoute,
  RegisteredSocket,
  NodeHandler,
  PageHandler,
} from "../plugin/route.ts";
import type { Guard } from "./guard.ts";
import type { Leases } from "../plugin/leases.ts";
import type { Principal } from "../kit/types.ts";
import type { Backlog } from "../kit/backlog.ts";
import type { SocketDoor } from "./websocket/websockets.ts";

/** Makes the server of a listener that speaks plain HTTP, from what `createServer` of Node takes. */
export type CreateServer = (options: ServerOptions, onRequest: RequestListener) => Server;

/** What all listeners share: what is open on whose credential, and what clients asked for and do not read. */
export interface Custody {
  readonly leases: Leases;
  readonly backlog: Backlog;
  /** Default: that of Node. Workers have their own; TLS is always Node's, since nobody but this process can write into it. */
  readonly createServer?: CreateServer | undefined;
}

/**
 * What a listener serves for one generation. Immutable: a reload compiles a new one and the listener swaps the pointer,
 * so that no port is ever closed by a reload.
 */
export interface ListenerApp {
  /** MCP endpoints by exact path. */
  readonly endpoints: ReadonlyMap<string, NodeHandler>;
  /** Every other request: the routes of the plugins, compiled. Authenticates on its own, per matched route. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /**
   * Resolves who makes a request to an endpoint. Returns the principal itself when no waiting is needed, so that the hot
   * path stays synchronous.
   * @throws {GatewayError} `unauthorized`, with a `www-authenticate` header
   */
  readonly authenticate: (req: IncomingMessage) => Principal | Promise<Principal>;
  /** What browsers get at endpoints. */
  readonly page?: PageHandler | undefined;
  /** Whether no page of another origin may read what a path answers. */
  readonly isClosed?: (path: string) => boolean;
  /** Who answers a request without the router, by its raw path; for callers only, as an endpoint is. */
  readonly direct?: ((req: IncomingMessage, path: string) => NodeHandler | undefined) | undefined;
  /** What readiness depends on besides the gateway itself. */
  readonly checks?: (() => readonly Fact[]) | undefined;
  /** Absent: no plugin accepts WebSocket connections here. */
  readonly sockets?: SocketDoor | undefined;
}

/** What the app of one listener is made from. */
export interface AppInput {
  /** The gateway's name. */
  readonly name: string;
  readonly routes: readonly RegisteredRoute[];
  readonly endpoints: ReadonlyMap<string, NodeHandler>;
  readonly sockets: ReadonlyMap<string, RegisteredSocket>;
  /** What browsers get at endpoints, and at the root. */
  readonly page?: PageHandler | undefined;
  /** What plugins make readiness depend on. */
  readonly checks: readonly Check[];
  readonly guard: Guard;
  /** Largest body of a route that sets no own limit, in bytes. */
  readonly bodyLimit: number;
  /** Deepest JSON of a body. */
  readonly maxDepth: number;
  /** What is open on whose credential. */
  readonly leases: Leases;
  readonly log: Logger;
  /** Hears of every request to a route that mutates. */
  readonly onMutation: (mutation: Mutation) => void;
}
