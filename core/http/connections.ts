import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { Logger } from "pino";
import { GatewayError } from "../kit/errors.ts";
import { InFlightSet, type Slotted } from "../kit/cancellation.ts";
import { parserFailure, refuseSocket } from "./failure.ts";
import { setTimer } from "../kit/timers.ts";

/** One connection-refusal line per this time, however many are refused. */
const DROP_LOG_MS = 10_000;
/** Connections that wait to be accepted, at most: Node's default of listen(). */
const BACKLOG = 511;

/** A request whose answer is in flight. */
interface Visit extends Slotted {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** The open connections of a listener and the answers in flight on them, so that a shutdown can tell them apart. */
export class Connections {
  readonly #log: Logger;
  readonly #limit: number;
  readonly #sockets = new Set<Socket>();
  /** Connections below TLS, to be able to cut off a handshake that never ends. */
  readonly #rawSockets = new Set<Socket>();
  readonly #inFlight = new InFlightSet<Visit>();
  #closing = false;
  #lastDrop = 0;
  #accepted = 0;

  /** @param limit most connections the server takes, for the log */
  constructor(log: Logger, limit: number) {
    this.#log = log;
    this.#limit = limit;
  }

  /** Keeps track of a server's connections, and answers what never became a request. */
  watch(server: Server, tls: boolean): void {
    server.on(tls ? "secureConnection" : "connection", (socket: Socket) =>
      track(this.#sockets, socket),
    );
    server.on("connection", (socket: Socket) => {
      this.#accepted++;
      if (tls) track(this.#rawSockets, socket);
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      const failure = parserFailure(error);
      if (failure)
        this.#log.debug({ code: error.code }, "refused bytes that are not an HTTP request");
      this.#refuse(socket, failure);
    });
    server.on("connect", (_req, socket: Duplex) =>
      this.#refuse(socket, {
        status: 405,
        error: new GatewayError("method_not_allowed", "The gateway is not a forward proxy."),
      }),
    );
    server.on("drop", () => this.#reportDrop());
    server.on("tlsClientError", (error: NodeJS.ErrnoException) =>
      this.#log.debug({ code: error.code }, "TLS handshake failed"),
    );
    // A port that cannot be had is told by open(), in a sentence.
    server.on("error", (error) => {
      if (server.listening) this.#log.error({ err: error }, "listener failed");
    });
  }

  /** Counts an answer as in flight until it is out, or its client is gone. */
  enter(req: IncomingMessage, res: ServerResponse): void {
    const visit: Visit = { req, res, slot: -1 };
    this.#inFlight.add(visit);
    // Comes once; `on` saves the wrapper that `once` makes.
    res.on("close", () => this.#finish(visit));
  }

  /** Says that a client sent too many requests without a wait for their answers. */
  reportCut(): void {
    this.#log.debug("cut off a connection with too many requests that wait");
  }

  /** Makes answers in flight the last of their connections. */
  drain(): void {
    for (const { res } of this.#inFlight) res.shouldKeepAlive = false;
  }

  /**
   * Stops accepting, closes idle connections at once and the others with their answer, or when the time is over. What a client had
   * sent before is read, and answered. Always resolves.
   */
  async close(server: Server, graceMs: number): Promise<void> {
    this.#closing = true;
    await this.#acceptWaiting();
    // Not http.Server.close: that also destroys connections whose last answer is ended but not yet flushed.
    const closed = new Promise<void>((resolve) =>
      NetServer.prototype.close.call(server, () => resolve()),
    );
    // What is accepted in one turn of the loop is read in the next.
    await setImmediate();
    const busy = new Set([...this.#inFlight].map(({ req }) => req.socket));
    for (const socket of this.#sockets) if (!busy.has(socket)) socket.destroy();
    const timer = setTimer(() => this.#cutOff(), graceMs);
    await closed;
    clearTimeout(timer);
    // Stops Node's own connection check.
    server.close();
  }

  /** Accepts those that the kernel has let in: the loop accepts one a turn, and this turn may be behind its look at the sockets. */
  async #acceptWaiting(): Promise<void> {
    await setImmediate();
    for (let turns = 0, before = -1; turns < BACKLOG && before !== this.#accepted; turns++) {
      before = this.#accepted;
      await setImmediate();
    }
  }

  #finish(visit: Visit): void {
    const { req, res } = visit;
    this.#inFlight.delete(visit);
    if (!res.writableFinished) this.#log.debug({ method: req.method }, "client went away");
    if (this.#closing) req.socket.end();
  }

  #cutOff(): void {
    if (this.#inFlight.size > 0)
      this.#log.warn({ answers: this.#inFlight.size }, "grace period over, cutting off answers");
    for (const socket of [...this.#sockets, ...this.#rawSockets]) socket.destroy();
  }

  /** Refuses bytes that do not begin a request. Never written into an answer that has begun. */
  #refuse(socket: Duplex, failure: ReturnType<typeof parserFailure>): void {
    const answering = [...this.#inFlight].some(
      ({ req, res }) => res.headersSent && req.socket === socket,
    );
    if (failure && !answering) refuseSocket(socket, failure.status, failure.error);
    else socket.destroy();
  }

  #reportDrop(): void {
    const now = performance.now();
    if (this.#lastDrop > 0 && now - this.#lastDrop < DROP_LOG_MS) return;
    this.#lastDrop = now;
    this.#log.warn(
      { connections: this.#limit },
      "too many connections, refusing new ones (limits.connections)",
    );
  }
}

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}
