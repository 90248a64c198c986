import { FastResponse } from "srvx";
import type { Progress } from "propylon";

/** Unread bytes beyond which only the latest progress is kept. */
const HIGH_WATER = 64 * 1024;
/** Keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;

/**
 * The answer of one call as server-sent events: `progress` as often as the tool reports and the client reads, then one
 * `result` or `error`. A client that reads slowly loses superseded progress and nothing else.
 */
export class CallStream {
  readonly #encoder = new TextEncoder();
  readonly #heartbeat: NodeJS.Timeout;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #latest: string | undefined;
  readonly response: Response;

  /** @param onGone called when the client went away before the end */
  constructor(onGone: () => void) {
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#flush(),
        cancel: () => {
          this.#close();
          onGone();
        },
      },
      { highWaterMark: HIGH_WATER, size: (chunk) => chunk.byteLength },
    );
    // The head leaves with the first bytes.
    this.#send(": open\n\n");
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.response = new FastResponse(stream, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      },
    });
  }

  /** Reports progress. */
  progress(report: Progress): void {
    const frame = toFrame("progress", JSON.stringify(report));
    if (this.#isFull) this.#latest = frame;
    else this.#send(frame);
  }

  /** Ends it with the same JSON that the unary answer has. */
  end(event: "result" | "error", body: string): void {
    this.#flush();
    this.#send(toFrame(event, body));
    const controller = this.#controller;
    this.#close();
    controller?.close();
  }

  get #isFull(): boolean {
    return (this.#controller?.desiredSize ?? 0) <= 0;
  }

  #flush(): void {
    const frame = this.#latest;
    this.#latest = undefined;
    if (frame !== undefined) this.#send(frame);
  }

  #beat(): void {
    if (!this.#isFull) this.#send(": ping\n\n");
  }

  #send(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  #close(): void {
    this.#controller = undefined;
    clearInterval(this.#heartbeat);
  }
}

/** JSON has no raw line break, so it is one data line. */
function toFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
