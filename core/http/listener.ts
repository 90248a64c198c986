import type { Fact } from "../plugin/plugin-checks.ts";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import type { GatewayConfig, ListenerConfig } from "../config/schema.ts";
import { GatewayError, toGatewayError } from "../kit/errors.ts";
import type { Principal } from "../kit/types.ts";
import type { Custody, ListenerApp } from "./app.ts";
import type { NodeHandler } from "../plugin/route.ts";
import { pathOf, type HttpAnswer } from "./http-messages.ts";
import { Connections } from "./connections.ts";
import { allowOrigin, isPreflight, sendPreflight } from "./cors.ts";
import {
  encodedBody,
  notReady,
  refuseUpgrade,
  sendError,
  sendRpcError,
  unknownHost,
  unknownOrigin,
} from "./failure.ts";
import { Pipelines } from "./pipelines.ts";
import { Hosts } from "./allowed-hosts.ts";
import { listenerUrl } from "../kit/addresses.ts";
import { wantsPage } from "./request.ts";
import { ABOUT_TO_END, sendLiveness, sendReadiness } from "./probes.ts";
import { bind, createNodeServer } from "./node-server.ts";
import { serveWeb } from "./web.ts";
import type {
  Admission,
  SocketDoor,
  WebSocketHandshake,
  WebSockets,
} from "./websocket/websockets.ts";

/** Codings below `chunked`; where it is not the last, the body has no certain end and Node refuses it. */
const CODED = /,[\t ]*chunked$/i;

/** What a listener needs to know besides its own config. */
export interface ListenerOptions extends Custody {
  readonly limits: GatewayConfig["limits"];
  readonly log: Logger;
  readonly publicUrl?: string;
}

/** Where an open listener can be reached. */
export interface ListenerAddress {
  readonly address: string;
  readonly port: number;
  /** Base URL without a trailing slash; `localhost` stands in for "every interface". */
  readonly url: string;
}

/**
 * A socket that serves whatever app it was last given. Checks Host and Origin of every request, answers the two probes
 * itself, finds MCP endpoints by their exact raw path and hands everything else to the routes of the plugins.
 */
export class Listener {
  readonly name: string;
  /** Whether it speaks TLS. */
  readonly tls: boolean;
  readonly #config: ListenerConfig;
  readonly #limits: GatewayConfig["limits"];
  readonly #publicUrl: string | undefined;
  readonly #log: Logger;
  readonly #custody: Custody;
  readonly #connections: Connections;
  #server: Server | undefined;
  /** Loaded with the first handshake that is let in. */
  #webSockets: WebSockets | undefined;
  #hosts: Hosts | undefined;
  #app: ListenerApp | undefined;
  #draining = false;
  #leaving = false;

  constructor(name: string, config: ListenerConfig, options: ListenerOptions) {
    this.name = name;
    this.tls = config.tls !== undefined;
    this.#config = config;
    this.#limits = options.limits;
    this.#publicUrl = options.publicUrl;
    this.#log = options.log.child({ listener: name });
    this.#custody = options;
    this.#connections = new Connections(this.#log, this.#limits.connections);
  }

  /**
   * Binds the address. Requests are answered 503 until the first {@link swap}.
   * @throws {GatewayError} `io_error` when the address cannot be bound; `invalid` for TLS files or allow-lists that cannot be used
   */
  async open(): Promise<ListenerAddress> {
    const pipelines = new Pipelines(() => this.#connections.reportCut());
    const onRequest: RequestListener = (req, res) => {
      // One that comes behind another has no socket yet.
      if (res.socket === null) pipelines.enter(req, res, () => this.#serve(req, res as HttpAnswer));
      else this.#serve(req, res as HttpAnswer);
    };
    const { createServer } = this.#custody;
    const server = await createNodeServer(
      { name: this.name, config: this.#config, limits: this.#limits, createServer },
      onRequest,
    );
    this.#connections.watch(server, this.tls);
    server.on("upgrade", (req, socket, head) => {
      void this.#upgrade({ req, socket: socket as Socket, head });
    });
    const { address, port } = await bind(server, this.name, this.#config);
    this.#server = server;
    try {
      this.#hosts = new Hosts(
        { address, port, tls: this.tls, publicUrl: this.#publicUrl },
        this.#config,
      );
    } catch (error) {
      await this.close(0);
      throw error;
    }
    return { address, port, url: listenerUrl({ host: address, port, tls: this.tls }) };
  }

  /** Serves another app from the next request on; requests that are being served stay with theirs. */
  swap(app: ListenerApp): void {
    this.#app = app;
    this.#webSockets?.keep(app.sockets);
  }

  /** Says at `/readyz` that it will be gone, and makes each answer the last of its connection; serves as before. */
  giveNotice(): void {
    this.#leaving = true;
    this.#connections.drain();
  }

  /**
   * Refuses new work with 503 while requests in flight go on. POST and DELETE of MCP endpoints still reach the endpoint, which
   * knows a new call from a message that belongs to a running one.
   */
  drain(): void {
    this.#draining = true;
    this.giveNotice();
  }

  /**
   * Stops accepting, closes idle connections and waits for answers in flight. Event streams count as such: end them first.
   * Always resolves.
   * @param graceMs what is still open after this many milliseconds is cut off
   */
  async close(graceMs: number): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.drain();
    await this.#webSockets?.close(graceMs);
    await this.#connections.close(server, graceMs);
    this.#server = undefined;
  }

  #serve(req: IncomingMessage, res: HttpAnswer): void {
    res.backlog = this.#custody.backlog;
    this.#connections.enter(req, res);
    try {
      if (this.#leaving) res.shouldKeepAlive = false;
      const refusal = this.#check(req);
      if (refusal) return this.#refuse(res, refusal);
      this.#takeOffBase(req);
      dropIdentity(req);
      const { origin } = req.headers;
      const isShared = origin !== undefined && this.#app?.isClosed?.(pathOf(req.url!)) !== true;
      if (isShared) allowOrigin(res, origin);
      if (isShared && isPreflight(req)) return sendPreflight(req, res);
      this.#route(req, res);
    } catch (error) {
      this.#fail(res, error);
    }
  }

  /** Host and Origin, on every route and before anything else. */
  #check(req: IncomingMessage): GatewayError | undefined {
    const coding = req.headers["transfer-encoding"];
    if (coding !== undefined && CODED.test(coding)) return encodedTransfer();
    const { host, origin } = req.headers;
    if (host === undefined || host === "")
      return new GatewayError("bad_request", "The request has no Host header.");
    if (!this.#hosts!.allowsHost(host, req.socket.localAddress) || !this.#takesTarget(req))
      return unknownHost();
    if (origin === undefined) return undefined;
    return this.#hosts!.allowsOrigin(origin, host) ? undefined : unknownOrigin();
  }

  /** A WebSocket handshake. Whatever is refused is answered as HTTP, before anything is switched. */
  async #upgrade(handshake: WebSocketHandshake): Promise<void> {
    const { req, socket } = handshake;
    // Node has taken its own listeners off the socket.
    socket.on("error", () => {});
    try {
      const refusal = this.#check(req);
      if (refusal) throw refusal;
      this.#takeOffBase(req);
      dropIdentity(req);
      const { webSockets, admission } = await this.#admit(req);
      webSockets.accept(handshake, admission);
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.code === "internal")
        this.#log.error({ err: error.cause ?? error }, "a WebSocket connection failed");
      refuseUpgrade(req, socket, error);
    }
  }

  /** A reload while a handshake waits may have taken its path from the plugin that let it in, or from its client: it is asked again. */
  async #admit(req: IncomingMessage): Promise<{ webSockets: WebSockets; admission: Admission }> {
    for (;;) {
      const door = this.#door(req);
      const admission = await door.admit(req);
      const webSockets = this.#webSockets ?? (await this.#loadWebSockets());
      if (door === this.#app?.sockets) return { webSockets, admission };
    }
  }

  /** What could not be loaded, as with too many files open, is tried again by the next handshake. */
  async #loadWebSockets(): Promise<WebSockets> {
    const { openWebSockets } = await import("./websocket/websockets.ts");
    const { leases, backlog } = this.#custody;
    const limit = this.#limits.body;
    const opened = await openWebSockets({ limit, leases, backlog, refuse: refuseUpgrade });
    this.#webSockets ??= opened;
    // A shutdown did not find them.
    if (this.#draining) void this.#webSockets.close(0);
    return this.#webSockets;
  }

  #door(req: IncomingMessage): SocketDoor {
    const app = this.#app;
    if (!app) throw notReady("The gateway is starting.");
    if (this.#draining) throw notReady("The gateway is shutting down.");
    if (app.endpoints.has(pathOf(req.url!)))
      throw new GatewayError("bad_request", "MCP endpoints do not support WebSocket.", {
        hint: "Use MCP's streamable HTTP transport.",
      });
    if (app.sockets) return app.sockets;
    throw new GatewayError("not_found", "Nothing here accepts WebSocket connections.");
  }

  /** Reduces an absolute-form target (RFC 9112 section 3.2.2) to its path, if its host is ours. */
  #takesTarget(req: IncomingMessage): boolean {
    const target = req.url!;
    if (target.startsWith("/") || target === "*") return true;
    const [, host, path] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? [];
    if (host === undefined || !this.#hosts!.allowsHost(host, req.socket.localAddress)) return false;
    req.url = path!.startsWith("/") ? path! : `/${path}`;
    return true;
  }

  /** Before anything looks at the path, so that no rule about a path sees two forms of it. */
  #takeOffBase(req: IncomingMessage): void {
    for (const base of this.#config.basePaths) {
      const target = req.url!;
      const next = target[base.length];
      const isBelow = next === undefined || next === "/" || next === "?";
      if (!isBelow || !target.startsWith(base)) continue;
      req.url = next === "/" ? target.slice(base.length) : `/${target.slice(base.length)}`;
    }
  }

  #route(req: IncomingMessage, res: HttpAnswer): void {
    const path = pathOf(req.url!);
    if (path === "/livez") return sendLiveness(req, res);
    if (path === "/readyz") return sendReadiness(req, res, this.#checks());
    const app = this.#app;
    const endpoint = app?.endpoints.get(path);
    const refusal = this.#refusal(req, endpoint !== undefined);
    if (refusal || !app) return this.#refuse(res, refusal ?? notReady("The gateway is starting."));
    // Before anybody is known: who opens an endpoint in a browser is to be led to a page where one can sign in.
    if (endpoint && app.page && wantsPage(req.method, req.headers.accept))
      return void serveWeb(req, res, app.page).catch((error: unknown) => this.#fail(res, error));
    const handler = endpoint ?? app.direct?.(req, path);
    if (handler) this.#enter(handler, app, req, res);
    else serveWeb(req, res, app.fetch).catch((error: unknown) => this.#fail(res, error));
  }

  #checks(): Fact[] {
    return [
      { name: "config applied", ok: this.#app !== undefined },
      { name: "accepting work", ok: !this.#draining },
      ...(this.#leaving && !this.#draining ? [ABOUT_TO_END] : []),
      ...(this.#app?.checks?.() ?? []),
    ];
  }

  #refusal(req: IncomingMessage, isEndpoint: boolean): GatewayError | undefined {
    if (req.headers.upgrade?.toLowerCase() === "websocket") return brokenHandshake(req);
    const encoding = req.headers["content-encoding"];
    // An endpoint says it in its own words.
    if (!isEndpoint && encoding !== undefined && encoding.toLowerCase() !== "identity")
      return encodedBody();
    if (!this.#draining) return undefined;
    if (isEndpoint && (req.method === "POST" || req.method === "DELETE")) return undefined;
    return notReady("The gateway is shutting down.");
  }

  /** The hot path: no promise is made when the principal is known at once. */
  #enter(endpoint: NodeHandler, app: ListenerApp, req: IncomingMessage, res: HttpAnswer): void {
    const principal: Principal | Promise<Principal> = app.authenticate(req);
    if (!(principal instanceof Promise)) {
      res.principal = principal;
      endpoint(req, res, principal);
      return;
    }
    principal
      .then((known) => {
        this.#custody.leases.refuseWithdrawn(known);
        res.principal = known;
        endpoint(req, res, known);
      })
      .catch((error: unknown) => this.#fail(res, error));
  }

  #fail(res: ServerResponse, thrown: unknown): void {
    const error = toGatewayError(thrown);
    // What fails because the client went away is not an error of ours.
    if (error.code === "internal" && !res.destroyed)
      this.#log.error({ err: error.cause ?? error, method: res.req.method }, "request failed");
    this.#refuse(res, error);
  }

  /** In the words of whatever is on the path. */
  #refuse(res: ServerResponse, error: GatewayError): void {
    if (this.#app?.endpoints.has(pathOf(res.req.url!))) sendRpcError(res, error);
    else sendError(res, error);
  }
}

/** A handshake that Node did not take for one. */
function brokenHandshake({ headers }: IncomingMessage): GatewayError {
  if (/\bupgrade\b/i.test(headers.connection ?? ""))
    return new GatewayError("bad_request", "A WebSocket handshake comes after every answer.", {
      hint: "Wait for the answers of a connection before you switch it to WebSocket, or open another.",
    });
  return new GatewayError("bad_request", "A WebSocket handshake needs Connection: Upgrade.", {
    hint: "A proxy in front of the gateway may have to be told to pass it on.",
  });
}

/** Says who calls, and is set by the gateway alone: a plugin that passes headers on must not pass on what a client made up. */
function dropIdentity({ headers }: IncomingMessage): void {
  if (headers["propylon-identity"] !== undefined) delete headers["propylon-identity"];
}

/** Node reads any coding before `chunked` as if it were not there; the body would be taken for what it is not (RFC 9112 section 6.1). */
function encodedTransfer(): GatewayError {
  return new GatewayError("not_implemented", "Only the transfer coding chunked is supported.", {
    headers: { connection: "close" },
  });
}
