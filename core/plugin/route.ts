import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { H3Event } from "h3";
import type { GatewayError } from "../kit/errors.ts";
import type { Cancellation } from "../kit/cancellation.ts";
import type { Role } from "../kit/roles.ts";
import type { Principal } from "../kit/types.ts";

/**
 * Who may use a route. Required on every route: one that says nothing does not compile. `public` is everyone,
 * `principal` everyone who proved who they are; `viewer`, `caller`, `operator` and `admin` are roles, each with the rights of those
 * before it; `service` is for other services of the team, and for `admin`.
 *
 * @example const PAGE: { access: Access; mutates: boolean } = { access: "viewer", mutates: false };
 */
export type Access = "public" | "principal" | Role;

/**
 * The policy of a route.
 *
 * @example const READ: RouteOptions = { access: "viewer", mutates: false, management: true };
 */
export interface RouteOptions {
  readonly access: Access;
  /** Whether a request changes anything; read-only mode refuses those that do. */
  readonly mutates: boolean;
  /**
   * Whether the route belongs to the management of the gateway: it is there only while `management.enabled`, and one that
   * mutates answers only with `management.mutations`. Default false.
   */
  readonly management?: boolean;
  /**
   * Whether somebody signs in here, on a public route: credentials that are not looked at, because too many were wrong of late, are
   * then answered with 429 and when to come back. Other public routes answer as to nobody. Default false.
   */
  readonly signsIn?: boolean;
  /** Listener by name; default: the first one. */
  readonly listener?: string;
  readonly websocket?: false;
  /** Largest request body in bytes; default: the gateway's `limits.body`. */
  readonly bodyLimit?: number;
  /**
   * Whether pages of the listener's `allowedOrigins` may read what the path answers (CORS); default true. `false` is for a page that
   * people open and no program reads, at a path without parameters.
   */
  readonly cors?: false;
  /**
   * A way around the router, which costs more than a relayed call: asked with the head of a request whether it answers this one
   * itself. Only for a route `POST` for callers that changes nothing; elsewhere it is not asked.
   */
  readonly direct?: (head: DirectHead) => DirectHandler | undefined;
  /**
   * Whether there is something behind the parameters of a path, for a principal if one is known. Asked for a request of a method that
   * the path does not have: where there is nothing it is refused with 404 and not with 405. Default: there always is.
   */
  readonly exists?: (
    params: Readonly<Record<string, string>>,
    principal: Principal | undefined,
  ) => boolean;
}

/**
 * The policy of a path that accepts WebSocket connections.
 *
 * @example
 * const WATCH: WebSocketOptions = { access: "viewer", mutates: false, websocket: true };
 * gateway.route("GET", "/watch", WATCH, (socket) => socket.send("hello"));
 */
export interface WebSocketOptions extends Pick<
  RouteOptions,
  "access" | "mutates" | "management" | "listener"
> {
  readonly websocket: true;
}

/**
 * Head of a request that may go around the router.
 *
 * @example
 * const direct = ({ headers }: DirectHead) => (headers["prefer"] === undefined ? answer : undefined);
 * gateway.route("POST", "/:server/:tool", { access: "caller", mutates: false, direct }, handler);
 */
export interface DirectHead {
  /** Target as sent: path and query. */
  readonly url: string;
  /** Values of the path's parameters in their order; nothing in them is percent-encoded. */
  readonly segments: readonly string[];
  readonly headers: IncomingHttpHeaders;
}

/**
 * A request that goes around the router, once its body is there and its principal was admitted.
 *
 * @example
 * const answer = async ({ body, principal }: DirectRequest) => ({ status: 200, body: await run(body, principal) });
 */
export interface DirectRequest {
  readonly body: Buffer;
  /** As in the context of a {@link RouteEvent}. */
  readonly maxDepth: number;
  readonly principal: Principal;
  /** Ends when the client goes away. */
  readonly cancellation: Cancellation;
}

/**
 * A JSON answer to a {@link DirectRequest}.
 *
 * @example const OK: DirectAnswer = { status: 200, body: "{}" };
 */
export interface DirectAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Answers a request around the router; what it throws becomes the error envelope. With `undefined` the router answers after all: for
 * what only the body tells.
 *
 * @example const answer: DirectHandler = async ({ body }) => ({ status: 200, body: body.toString() });
 */
export type DirectHandler = (request: DirectRequest) => Promise<DirectAnswer | undefined>;

/**
 * Methods that a route can have.
 *
 * @example const reference = new RegExp(`^(?:${ROUTE_METHODS.join("|")}) /`);
 */
export const ROUTE_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/**
 * Methods a route can have.
 *
 * @example const WRITES: ReadonlySet<RouteMethod> = new Set(["POST", "PUT", "PATCH", "DELETE"]);
 */
export type RouteMethod = (typeof ROUTE_METHODS)[number];

/**
 * What a route handler receives: h3's event, with the principal that the access policy admitted. On a public route somebody
 * without credentials is `anonymous` and has no role.
 *
 * @example const idOf = ({ context }: RouteEvent): string => context.params?.["id"] ?? context.principal.id;
 */
export interface RouteEvent extends H3Event {
  readonly context: H3Event["context"] & {
    readonly principal: Principal;
    /** Deepest JSON that a body may have: the gateway's `limits.depth`. What walks a value recurses. */
    readonly maxDepth: number;
    /**
     * What a change is about, where the path does not say; set it as soon as it is known, and the audit names it, also of a
     * change that fails. Each value is cut at 200 characters, and must be no secret.
     */
    target?: Readonly<Record<string, string>>;
    /**
     * Set by a handler that answers with an event stream whose protocol has errors of its own. Called once when the credential
     * behind the stream is gone: the stream is to tell the error and end, and is cut a moment later. Default: the stream gets
     * the event `error` with the envelope and ends.
     */
    onRevoked?: (error: GatewayError) => void;
  };
}

/**
 * Answers a request; returns what h3 accepts (object = JSON, string, Response, stream ...).
 *
 * @example const whoami: RouteHandler = ({ context }) => ({ id: context.principal.id });
 */
export type RouteHandler = (event: RouteEvent) => unknown;

/**
 * One WebSocket connection as a plugin sees it.
 *
 * @example
 * const accept = (socket: Socket): void => socket.onMessage((text) => socket.send(text));
 * gateway.route("GET", "/echo", { access: "caller", mutates: false, websocket: true }, accept);
 */
export interface Socket {
  readonly principal: Principal;
  readonly url: URL;
  /** Values of the path's parameters, percent-decoded; `{}` for a plain path. */
  readonly params: Readonly<Record<string, string>>;
  /** Bytes handed to `send` and not sent yet. */
  readonly buffered: number;
  /** Sends a text message; does nothing once closed. */
  send(text: string): void;
  /** @param code RFC 6455 section 7.4; default 1000 */
  close(code?: number, reason?: string): void;
  /** Cuts the connection off without a word, for a peer that reads nothing. */
  terminate(): void;
  onMessage(listener: (text: string) => void): void;
  /** Runs once, no matter which side closed it. */
  onClose(listener: () => void): void;
}

/**
 * Serves one request on Node's own objects; used where no web Request may be built (the MCP hot path).
 *
 * @example const handler: NodeHandler = (req, res, principal) => res.end(`Hello, ${principal.id}.`);
 */
export type NodeHandler = (req: IncomingMessage, res: ServerResponse, principal: Principal) => void;

/**
 * Answers browsers; see {@link Pages}. Nobody is known yet, so the answer is the same for all.
 *
 * @example const page: PageHandler = () => new Response(null, { status: 302, headers: { location: "ui/" } });
 */
export type PageHandler = (request: Request) => Response | Promise<Response>;

/** A route as registered, with the plugin it came from. */
export interface RegisteredRoute {
  readonly plugin: string;
  readonly method: RouteMethod;
  readonly path: string;
  readonly options: RouteOptions;
  readonly handler: RouteHandler;
}

/** A WebSocket path as registered. */
export interface RegisteredSocket {
  readonly plugin: string;
  readonly path: string;
  readonly options: WebSocketOptions;
  readonly accept: (socket: Socket) => void;
}
