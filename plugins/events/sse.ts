import type { Frame } from "./event.ts";
import type { Outlet } from "./stream.ts";

/** Most bytes handed to the connection at once; it takes them when the last ones are out. */
const CHUNK = 64 * 1024;
const BEAT = new TextEncoder().encode(": keep-alive\n\n");

/** Ends the response without an answer to be logged: Node takes it for a connection that was reset. */
const CUT = Object.assign(new Error("The reader is too slow."), { code: "ECONNRESET" });

/** Server-sent events as the body of a response. The queue is its own: a body of the platform would grow without bound. */
export class SseOutlet implements Outlet {
  readonly body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #over: () => void;
  readonly #queue: Uint8Array[] = [];
  #queued = 0;
  /** Bytes that the connection took and may not have sent. */
  #handed = 0;
  #isWanted = false;
  #isEnding = false;
  #isOver = false;

  /** @param onGone runs once, when the reader left or the stream ended */
  constructor(onGone: () => void) {
    const over = (): void => {
      this.#isOver = true;
      this.#queue.length = 0;
      onGone();
    };
    this.#over = over;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: over,
      },
      { highWaterMark: 0 },
    );
  }

  get unsent(): number {
    return this.#queued + this.#handed;
  }

  write({ bytes }: Frame): void {
    this.#push(bytes);
  }

  beat(): void {
    this.#push(BEAT);
  }

  end(): void {
    this.#isEnding = true;
    if (this.#isWanted) this.#pull();
  }

  cut(): void {
    if (this.#isOver) return;
    this.#controller.error(CUT);
    this.#over();
  }

  #push(bytes: Uint8Array): void {
    if (this.#isOver || this.#isEnding) return;
    this.#queue.push(bytes);
    this.#queued += bytes.length;
    if (this.#isWanted) this.#pull();
  }

  /** Called when the connection has room, and by whoever brings something while it has. */
  #pull(): void {
    this.#handed = 0;
    this.#isWanted = this.#queue.length === 0;
    if (!this.#isWanted) {
      const chunk = this.#take();
      this.#queued -= chunk.length;
      this.#handed = chunk.length;
      this.#controller.enqueue(chunk);
    } else if (this.#isEnding && !this.#isOver) {
      this.#controller.close();
      this.#over();
    }
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
}
