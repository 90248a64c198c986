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

/** Ends a response with a body in pieces: one write where joining them costs little. */
export function endWith(res: ServerResponse, pieces: readonly (string | Buffer)[]): void {
  if (pieces.every((piece) => typeof piece === "string")) {
    res.end(pieces.length === 1 ? pieces[0] : pieces.join(""));
    return;
  }
  res.cork();
  for (const piece of pieces) res.write(piece);
  // Node 24 never ends a chunked response that is still corked.
  res.uncork();
  res.end();
}
