import type { Socket } from "node:net";
import { GatewayError, toRpcError } from "../kit/errors.ts";
import { bareAnswer, linger } from "../http/failure.ts";
import { KEEP_ALIVE_MS } from "../http/http-messages.ts";
import { setTimer } from "../kit/timers.ts";

/** Connections that wait for their clients; further ones are closed as soon as they are answered. */
const MAX_OPEN = 4_096;
/** A client that has sent nothing for so long after the answer, and has not closed, waits for one, in milliseconds. */
const QUIET_MS = 1_000;
/** What is read, and thrown away, of one connection: a body of the usual limit twice. And of all that are open at a time. */
const MAX_READ = 8 * 1024 * 1024;
const MAX_READ_TOGETHER = 256 * 1024 * 1024;

/**
 * Connections whose worker was killed. Each gets the answer that its client may wait for, which tells it to close. Some clients
 * throw that away, because they wait for nothing, and use the connection again: those of Node.js do. Ended here at once, it would
 * break the request of such a client. So it stays open, and what is sent on it gets the answer, too.
 */
export class LostConnections {
  readonly #open = new Set<Socket>();
  readonly #max: number;
  #read = 0;
  #isClosed = false;

  constructor(max = MAX_OPEN) {
    this.#max = max;
  }

  /** Takes a connection over. */
  take(socket: Socket): void {
    socket.on("error", () => {}).write(ANSWER);
    if (this.#isClosed || this.#open.size >= this.#max) return end(socket);
    this.#open.add(socket);
    // Nobody used it for so long: a worker would close it, too. Also the last word for one that never stops to send.
    const unused = setTimer(() => end(socket), KEEP_ALIVE_MS);
    socket.once("close", () => this.#forget(socket, unused));
    socket.once("data", () => this.#awaitQuiet(socket));
    socket.on("data", ({ length }: Uint8Array) => this.#count(socket, length));
  }

  /** Ends them, and what is taken from now on. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) end(socket);
  }

  /**
   * It may be that the answer was on its way already, and was taken for that of this request: then the client closes, as it was
   * told. A second answer would be one too many, and is an error to some.
   */
  #awaitQuiet(socket: Socket): void {
    const timer = setTimer(() => {
      if (socket.writable) socket.write(ANSWER);
      end(socket);
    }, QUIET_MS);
    socket.on("data", () => timer.refresh()).once("close", () => clearTimeout(timer));
  }

  #count(socket: Socket, length: number): void {
    this.#read += length;
    if (socket.bytesRead > MAX_READ || this.#read > MAX_READ_TOGETHER) socket.pause();
  }

  #forget(socket: Socket, timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#open.delete(socket);
    if (this.#open.size === 0) this.#read = 0;
  }
}

function end(socket: Socket): void {
  socket.end();
  linger(socket);
}

const GONE = new GatewayError("unavailable", "The worker that had this request is gone.", {
  hint: "It is not known whether the request did its work. Make it again where that does no harm.",
  headers: { "retry-after": "1" },
});

/** For a request that nobody knows: as at an MCP endpoint, whose clients look for nothing else. */
const ANSWER = bareAnswer(
  GONE.status,
  JSON.stringify({ jsonrpc: "2.0", id: null, error: toRpcError(GONE) }),
  GONE.headers,
);
