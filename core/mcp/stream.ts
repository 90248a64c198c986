import type { ServerResponse } from "node:http";
import type { Pulse, Pulsed } from "./pulse.ts";

const STREAM_HEAD: readonly string[] = [
  "Content-Type",
  "text/event-stream",
  "Cache-Control",
  "no-cache, no-transform",
  // nginx holds events back otherwise.
  "X-Accel-Buffering",
  "no",
];

/** How event streams behave; the same for all of an endpoint. */
export interface StreamSettings {
  readonly pulse: Pulse;
  /** Unsent bytes at which a stream is closed. */
  readonly queue: number;
  /** Called when a reader was too slow, with the bytes it left unread. */
  readonly onOverflow: (bytes: number) => void;
}

/**
 * Server-sent events on a Node response. Only JSON goes into `data`, and JSON text never holds a line break, so one
 * message is always one event (T10).
 */
export class EventStream implements Pulsed {
  seat = -1;
  readonly #res: ServerResponse;
  readonly #settings: StreamSettings;

  constructor(res: ServerResponse, settings: StreamSettings) {
    this.#res = res;
    this.#settings = settings;
    res.writeHead(200, STREAM_HEAD as string[]);
    settings.pulse.add(this);
    res.once("close", () => settings.pulse.delete(this));
  }

  /** Whether the client is still there. */
  get open(): boolean {
    return !this.#res.writableEnded && !this.#res.destroyed;
  }

  /**
   * Sends one message; false when the stream is closed, be it by this call: a slow reader may not cost unbounded memory.
   * What waits is at most the queue and one message.
   */
  send(message: string): boolean {
    if (!this.open) return false;
    if (this.#res.writableLength > this.#settings.queue) {
      this.#settings.onOverflow(this.#res.writableLength);
      this.#res.destroy();
      return false;
    }
    this.#res.write(`event: message\ndata: ${message}\n\n`);
    return true;
  }

  /** Sends a last message in pieces, whatever its size, and ends the stream. */
  end(pieces?: readonly (string | Buffer)[]): void {
    this.#settings.pulse.delete(this);
    if (!this.open) return;
    if (pieces === undefined) this.#res.end();
    else endWith(this.#res, ["event: message\ndata: ", ...pieces, "\n\n"]);
  }

  pulse(): void {
    // A full queue shows that nobody reads; the comment would only add to it.
    if (this.open && !this.#res.writableNeedDrain) this.#res.write(": keep-alive\n\n");
  }
}

/** Up to this many bytes one write of a copy is cheaper than several writes without one. */
const JOIN_LIMIT = 16 * 1024;

/** Ends a response with a body in pieces. */
export function endWith(res: ServerResponse, pieces: readonly (string | Buffer)[]): void {
  let size = 0;
  let strings = 0;
  for (const piece of pieces) {
    size += piece.length;
    if (typeof piece === "string") strings++;
  }
  if (strings === pieces.length) res.end(pieces.length === 1 ? pieces[0] : pieces.join(""));
  // As text, Node sends head and body in one write; latin1 is one byte each, so a character cut in two stays whole.
  else if (size <= JOIN_LIMIT) res.end(pieces.map(toBinary).join(""), "latin1");
  else endLarge(res, pieces);
}

function toBinary(piece: string | Buffer): string {
  return (typeof piece === "string" ? Buffer.from(piece) : piece).toString("latin1");
}

function endLarge(res: ServerResponse, pieces: readonly (string | Buffer)[]): void {
  res.cork();
  for (const piece of pieces) res.write(piece);
  // Node 24 never ends a chunked response that is still corked.
  res.uncork();
  res.end();
}
