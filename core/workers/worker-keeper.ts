import { writeSync } from "node:fs";
import type { Socket } from "node:net";
import type { WorkerChannel } from "./channel.ts";
import { type KeptConnection, MARKS_FD, MAX_KEPT } from "./kept-connections.ts";
import { WORKER } from "./protocol.ts";

/** Sends a handle to the primary. */
export type SendHandle = (
  message: KeptConnection,
  handle: unknown,
  sent: (error: Error | null) => void,
) => unknown;

const sendByProcess: SendHandle = (message, handle, sent) =>
  (process as unknown as { send: SendHandle }).send(message, handle, sent);

/**
 * Gives the primary the connections of this worker. What it must not write into is marked in a file of one byte for each, which
 * outlives this process: a message would be on its way when that is killed. A call whose answer is one write costs nothing.
 */
export class WorkerKeeper {
  readonly #channel: WorkerChannel;
  readonly #send: SendHandle;
  readonly #places = new Map<Socket, number>();
  readonly #marks = new Uint8Array(MAX_KEPT);
  readonly #free = Array.from({ length: MAX_KEPT }, (_, place) => place);
  #closed: number[] = [];

  constructor(channel: WorkerChannel, send: SendHandle = sendByProcess) {
    this.#channel = channel;
    this.#send = send;
  }

  /** Gives the primary a connection that carries HTTP/1.1 as it is, until that closes. */
  keep(socket: Socket): void {
    // Undocumented, as every way to share a socket is that goes on reading it here.
    const handle = (socket as unknown as { readonly _handle?: object | null })._handle;
    const place = handle ? this.#free.pop() : undefined;
    if (place === undefined) return;
    this.#places.set(socket, place);
    this.#mark(place, 0);
    // It fails for a connection that was closed while it waited to be sent: nobody waits there.
    this.#send({ keep: place }, handle, () => {});
    socket.once("close", () => this.#close(socket, place));
  }

  /** Says, before the first byte, that what follows on a connection must not be written into: a part of an answer, or no HTTP. */
  begin(socket: Socket): void {
    const place = this.#places.get(socket);
    if (place !== undefined) this.#mark(place, 1);
  }

  /** Says that an answer in parts is out. */
  end(socket: Socket): void {
    const place = this.#places.get(socket);
    if (place !== undefined) this.#mark(place, 0);
  }

  #mark(place: number, mark: 0 | 1): void {
    if (this.#marks[place] === mark) return;
    this.#marks[place] = mark;
    writeSync(MARKS_FD, this.#marks, place, 1, place);
  }

  /** Its mark stays until the place is given again: what was cut off in the middle must not be written into either. */
  #close(socket: Socket, place: number): void {
    this.#places.delete(socket);
    if (this.#closed.push(place) === 1) setImmediate(() => void this.#tellClosed());
  }

  async #tellClosed(): Promise<void> {
    const places = this.#closed;
    this.#closed = [];
    try {
      await this.#channel.ask(WORKER.closed, places);
      this.#free.push(...places);
    } catch {
      // The primary is gone, or does not answer any more: it holds nothing that may be replaced.
    }
  }
}
