import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Most requests of one connection that may wait for the answers before theirs: programs that do so at all send a few tens. */
const MAX_WAITING = 100;

/**
 * Requests that a client sends without a wait for the answers before (RFC 9112 section 9.3.2). Node hands on all that a chunk of
 * 64 KiB holds in one turn of the event loop, 1,700 of them, and never says of one whose turn to answer did not come that its
 * client is gone. Here each begins in a turn of its own, when those before it are answered. Who sends more than a hundred is cut
 * off, and may send again what was not answered (section 9.3.1).
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
    if (waiting === MAX_WAITING) {
      this.#onCut();
      socket.destroy();
      return;
    }
    this.#waiting.set(socket, waiting + 1);
    res.once("socket", () => {
      this.#waiting.set(socket, this.#waiting.get(socket)! - 1);
      setImmediate(() => socket.destroyed || serve());
    });
  }
}
