import { FastResponse } from "srvx";
import { setTicker } from "./timers.ts";

/**
 * Headers of every event stream. Nobody on the way may store it, change it, or (nginx) hold it back.
 *
 * @example return new Response(body, { headers: SSE_HEADERS });
 */
export const SSE_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

/**
 * Comment on a quiet stream: proxies and clients give up on a connection that says nothing for long.
 *
 * @example res.write(SSE_KEEP_ALIVE);
 */
export const SSE_KEEP_ALIVE = ": keep-alive\n\n";
/**
 * So often on a quiet stream, in milliseconds.
 *
 * @example const timer = setInterval(() => res.write(SSE_KEEP_ALIVE), SSE_KEEP_ALIVE_MS);
 */
export const SSE_KEEP_ALIVE_MS = 15_000;

/**
 * One event (WHATWG HTML, section 9.2.5).
 *
 * @param data without line breaks, as JSON text of `JSON.stringify` is: a line break would end the event
 * @example body.write(sseFrame(JSON.stringify(report), "progress"));
 */
export function sseFrame(data: string, event?: string, id?: string): string {
  return `${sseHead(event, id)}${data}\n\n`;
}

/**
 * What stands before the data of an event; behind it comes an empty line.
 *
 * @example res.write([sseHead("message"), ...pieces, "\n\n"].join(""));
 */
export function sseHead(event?: string, id?: string): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return id === undefined ? `${name}data: ` : `id: ${id}\n${name}data: `;
}

/**
 * How an {@link SseBody} behaves; everything has a default.
 *
 * @example const options: SseBodyOptions = { keepAlive: 5_000, onGone: () => unsubscribe() };
 */
export interface SseBodyOptions {
  /** Runs once: the reader took everything, or it left or was cut off before. */
  onGone?(how: "read" | "left"): void;
  /** Runs when the connection took all that was written. */
  onRoom?(): void;
  /** Milliseconds between comments on a quiet stream; default 15,000; 0 = none. */
  readonly keepAlive?: number;
}

/** Most bytes handed to the connection at once; it takes them when the last ones are out. */
const CHUNK = 64 * 1024;

/** Ends the response without an answer to be logged: Node takes it for a connection that was reset. */
const CUT = Object.assign(new Error("The reader is too slow."), { code: "ECONNRESET" });

/**
 * Server-sent events as the body of a response. Nothing is ever waited for: the writer looks at {@link unsent}, and leaves out
 * what is superseded, waits for {@link whenRoom}, or cuts the stream off. The queue is its own, because a body of the platform grows
 * without bound and does not tell how far.
 *
 * @example
 * const body = new SseBody({ onGone: () => unsubscribe() });
 * const unsubscribe = jobs.on((job) => body.unsent < 65_536 && body.write(sseFrame(JSON.stringify(job))));
 * return body.response();
 */
export class SseBody {
  readonly #options: SseBodyOptions;
  readonly #stream: ReadableStream<Uint8Array>;
  readonly #keepAlive: NodeJS.Timeout | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #queue: Uint8Array[] = [];
  #queued = 0;
  /** Bytes that the connection took and may not have sent. */
  #handed = 0;
  #isWanted = false;
  #isEnding = false;
  #isOver = false;
  #waiting: (() => void)[] = [];

  constructor(options: SseBodyOptions = {}) {
    this.#options = options;
    this.#stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        // Who leaves between the last event and the end of the stream has everything.
        cancel: () => this.#over(this.#isEnding && this.#queue.length === 0 ? "read" : "left"),
      },
      { highWaterMark: 0 },
    );
    const { keepAlive = SSE_KEEP_ALIVE_MS } = options;
    if (keepAlive > 0) this.#keepAlive = setTicker(() => this.beat(), keepAlive).unref();
  }

  /** Bytes written and not sent yet. */
  get unsent(): number {
    return this.#queued + this.#handed;
  }

  /** The response that the events are sent in. */
  response(): Response {
    return new FastResponse(this.#stream, { headers: SSE_HEADERS });
  }

  /** Sends whole events; nothing after the end. */
  write(events: string | Uint8Array): void {
    if (this.#isOver || this.#isEnding) return;
    const bytes = typeof events === "string" ? Buffer.from(events) : events;
    this.#queue.push(bytes);
    this.#queued += bytes.length;
    if (this.#isWanted) this.#pull();
  }

  /** Shows that the stream lives, unless something that waits will. */
  beat(): void {
    if (this.unsent === 0) this.write(SSE_KEEP_ALIVE);
  }

  /** Resolves when at most 64 KiB are unsent: with true; with false as soon as nobody reads any more, and the writer must stop. */
  async whenRoom(): Promise<boolean> {
    if (!this.#isOver && this.unsent > CHUNK)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    return !this.#isOver;
  }

  /** Ends the stream after what is unsent. */
  end(): void {
    this.#isEnding = true;
    clearInterval(this.#keepAlive);
    if (this.#isWanted) this.#pull();
  }

  /** Ends it now, in a way that no client takes for the end. */
  cut(): void {
    if (this.#isOver) return;
    this.#controller.error(CUT);
    this.#over("left");
  }

  /** Called when the connection has room, and by code that brings something while it has. */
  #pull(): void {
    this.#handed = 0;
    if (this.#queue.length === 0 && !this.#isEnding) this.#options.onRoom?.();
    this.#isWanted = this.#queue.length === 0;
    if (!this.#isWanted) this.#hand(this.#take());
    else if (this.#isEnding && !this.#isOver) {
      this.#controller.close();
      this.#over("read");
    }
    if (this.unsent <= CHUNK) this.#resume();
  }

  #hand(chunk: Uint8Array): void {
    this.#queued -= chunk.length;
    this.#handed = chunk.length;
    this.#controller.enqueue(chunk);
  }

  /** Many small events go out as one chunk. */
  #take(): Uint8Array {
    let bytes = this.#queue[0]!.length;
    let count = 1;
    while (count < this.#queue.length && bytes + this.#queue[count]!.length <= CHUNK)
      bytes += this.#queue[count++]!.length;
    const parts = this.#queue.splice(0, count);
    return count === 1 ? parts[0]! : Buffer.concat(parts);
  }

  #over(how: "read" | "left"): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#queue.length = 0;
    this.#queued = 0;
    this.#handed = 0;
    clearInterval(this.#keepAlive);
    this.#resume();
    this.#options.onGone?.(how);
  }

  #resume(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
