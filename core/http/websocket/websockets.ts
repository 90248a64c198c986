import { setTimer } from "../../kit/timers.ts";
import type { IncomingMessage } from "node:http";
import type { Socket as NetSocket } from "node:net";
import type { WebSocket, WebSocketServer } from "ws";
import type { Leases } from "../../plugin/leases.ts";
import { GatewayError } from "../../kit/errors.ts";
import type { Principal } from "../../kit/types.ts";
import type { Socket } from "../../plugin/route.ts";
import type { Backlog, Unread } from "../../kit/backlog.ts";

/** How often a peer has to show that it is there. One that missed a whole round is gone. */
const PING_MS = 30_000;
/** How long a peer has to answer a close before its connection is cut off. */
const CLOSE_MS = 1_000;

/** RFC 6455 section 7.4.1: an endpoint is going away. */
const GOING_AWAY = 1001;
/** RFC 6455 section 7.4.1: what the peer does, or who it is, is not allowed. */
const POLICY_VIOLATION = 1008;

/** Bytes that may be on their way without being looked at. */
const UNNOTED = 64 * 1024;

/** A WebSocket handshake that may go on, and who takes the connection. */
export interface Admission {
  readonly plugin: string;
  readonly path: string;
  readonly principal: Principal;
  readonly url: URL;
  /** Values of the path's parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly accept: (socket: Socket) => void;
}

/** The WebSocket paths of a listener. */
export interface SocketDoor {
  /**
   * Decides about a handshake whose Host and Origin were checked.
   * @throws {GatewayError} `not_found`, `unauthorized`, `forbidden`, `read_only`
   */
  admit(req: IncomingMessage): Promise<Admission>;
  /** Whether a plugin still accepts connections on a path. */
  has(where: Pick<Admission, "plugin" | "path">): boolean;
}

/** One open connection. */
interface Connection {
  readonly socket: WebSocket;
  readonly admission: Admission;
  /** Whether it answered since the last ping. */
  alive: boolean;
}

/** A handshake as Node hands it over. */
export interface WebSocketHandshake {
  readonly req: IncomingMessage;
  readonly socket: NetSocket;
  readonly head: Buffer;
}

/** What the connections of a listener stand on. */
export interface WebSocketsOptions {
  /** Largest message in bytes; a larger one closes the connection with 1009. */
  readonly limit: number;
  readonly leases: Leases;
  readonly backlog: Backlog;
  /** Answers a handshake in HTTP. */
  readonly refuse: (req: IncomingMessage, socket: NetSocket, error: GatewayError) => void;
}

/** Opens the WebSocket connections of a listener, of which there are none yet. `ws` is imported here. */
export async function openWebSockets(options: WebSocketsOptions): Promise<WebSockets> {
  return new WebSockets(options, await createServer(options));
}

/** The WebSocket connections of a listener: handshake, liveness, end. */
export class WebSockets {
  readonly #options: WebSocketsOptions;
  readonly #server: WebSocketServer;
  readonly #open = new Set<Connection>();
  #timer: NodeJS.Timeout | undefined;
  #closing = false;

  /** Use {@link openWebSockets}. */
  constructor(options: WebSocketsOptions, server: WebSocketServer) {
    this.#options = options;
    this.#server = server;
  }

  /**
   * Completes a handshake that was admitted, or answers what is wrong with it.
   *
   * @throws {GatewayError} `unauthorized` when the credential was withdrawn since the handshake came
   */
  accept({ req, socket, head }: WebSocketHandshake, admission: Admission): void {
    this.#options.leases.refuseWithdrawn(admission.principal);
    this.#server.handleUpgrade(req, socket, head, (opened) => this.#enter(opened, admission));
  }

  /** Closes the connections whose path nobody accepts any more. */
  keep(door: SocketDoor | undefined): void {
    for (const { socket, admission } of this.#open)
      if (door?.has(admission) !== true) socket.close(GOING_AWAY, "no longer served");
  }

  /** Closes every connection, and whatever opens from now on. Resolves when all are gone. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const wait = Math.min(graceMs, CLOSE_MS);
    await Promise.all([...this.#open].map(({ socket }) => goAway(socket, wait)));
  }

  #enter(socket: WebSocket, admission: Admission): void {
    if (this.#closing) return void goAway(socket, 0);
    const connection: Connection = { socket, admission, alive: true };
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#ping(), PING_MS).unref();
    // A broken frame or a reset: `close` follows, and nobody is left to tell.
    socket.on("error", () => {});
    socket.on("pong", () => (connection.alive = true));
    const release = this.#options.leases.open(
      admission.principal,
      (reason) =>
        void goAway(socket, CLOSE_MS, { code: POLICY_VIOLATION, reason: cutText(reason) }),
    );
    const unread = unreadOf(socket, admission.principal.ref);
    socket.once("close", () => {
      release();
      this.#options.backlog.forget(unread);
      this.#leave(connection);
    });
    admission.accept(plainSocket(socket, admission, () => this.#options.backlog.note(unread)));
  }

  #leave(connection: Connection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #ping(): void {
    for (const connection of this.#open) {
      if (!connection.alive) connection.socket.terminate();
      connection.alive = false;
      connection.socket.ping();
    }
  }
}

async function createServer({ limit, refuse }: WebSocketsOptions): Promise<WebSocketServer> {
  const ws = await import("ws");
  const server = new ws.WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limit,
    // A chunk of 64 KiB may hold 10,000 messages: each has a turn of the event loop of its own.
    allowSynchronousEvents: false,
    // Compression keeps 300 KB per connection, and what it saves of short JSON is little.
    perMessageDeflate: false,
    // Never a protocol that carries a token: the answer would show it.
    handleProtocols: (offered) => (offered.has("propylon") ? "propylon" : false),
  });
  server.on("wsClientError", ({ message }, socket, req) =>
    refuse(
      req,
      socket as NetSocket,
      new GatewayError("bad_request", `This is not a WebSocket handshake: ${message}.`, {
        headers: { "sec-websocket-version": "13" },
      }),
    ),
  );
  return server;
}

/** Says goodbye, and cuts off a peer that does not answer. */
function goAway(
  socket: WebSocket,
  wait: number,
  { code, reason } = { code: GOING_AWAY, reason: "shutting down" },
): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimer(() => socket.terminate(), wait);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.close(code, reason);
  });
}

/** A reason may have 123 bytes (RFC 6455 section 5.5). */
function cutText(text: string): string {
  const cut = Buffer.from(text).subarray(0, 123).toString();
  return cut.replace(/\uFFFD$/, "");
}

/** What a connection has not taken yet. */
function unreadOf(socket: WebSocket, owner: string): Unread {
  return {
    owner,
    get unread() {
      return socket.bufferedAmount;
    },
    get progress() {
      return socket.bufferedAmount;
    },
    cut: () => socket.terminate(),
  };
}

/** @param onUnread told when a message was not taken at once */
function plainSocket(
  socket: WebSocket,
  { principal, url, params }: Admission,
  onUnread: () => void,
): Socket {
  return {
    principal,
    url,
    params,
    get buffered() {
      return socket.bufferedAmount;
    },
    send(text) {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(text);
      if (socket.bufferedAmount > UNNOTED) onUnread();
    },
    close: (code = 1000, reason) => socket.close(code, reason),
    terminate: () => socket.terminate(),
    onMessage: (listener) =>
      void socket.on("message", (data: Buffer, isBinary: boolean) => {
        // What comes after a goodbye is not heard: a peer may send on until it answers it.
        if (socket.readyState !== socket.OPEN) return;
        if (isBinary) socket.close(1003, "text messages only");
        else listener(data.toString());
      }),
    onClose: (listener) => void socket.once("close", () => listener()),
  };
}
