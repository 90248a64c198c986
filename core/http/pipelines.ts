import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Maximum requests of one connection that wait for the answers before theirs: programs that do so at all send a few tens. */
const MAX_WAITING = 100;
/** For how many one counts whose body is of unknown length: in chunks of one byte, 16 KiB of it take some megabytes before it is read. */
const CHUNKED = 50;

/**
 * Requests that a client sends without a wait for the answers before (RFC 9112 section 9.3.2). Node hands on all that a chunk of
 * 64 KiB holds in one turn of the event loop, 1,700 of them, and never says of one whose turn to answer did not come that its
 * client is gone. Here each begins in a turn of its own, when those before it are answered. A client that sends more than a
 * hundred, or three with bodies in chunks, is cut off, and may send again what was not answered (section 9.3.1).
 */
export class Pipelines {
  readonly #waiting = new WeakMap<Socket, number>();
  readonly #onCut: () => void;

  /** @param onCut told when a connection is cut off */
  constructor(onCut: () => void) {
    this.#onCut = onCut;
  }

  /** Serves a request that came behind others, once those are answered. */
  enter(req: IncomingMessage, res: ServerResponse, serve: () => void): void {
    const { socket } = req;
    if (socket.destroyed) return;
    const waiting = this.#waiting.get(socket) ?? 0;
    const weight = req.headers["transfer-encoding"] === undefined ? 1 : CHUNKED;
    if (waiting + weight > MAX_WAITING) {
      this.#onCut();
      socket.destroy();
      return;
    }
    this.#waiting.set(socket, waiting + weight);
    res.once("socket", () => {
      this.#waiting.set(socket, this.#waiting.get(socket)! - weight);
      setImmediate(() => socket.destroyed || serve());
    });
  }
}
