import type { Readable } from "node:stream";

/** Longest time that one source may hold the event loop at once, in milliseconds. */
const TURN_MS = 10;
/** After so many bytes the clock is looked at: a chunk of 64 KiB may hold 32,000 lines. */
const SLICE = 16 * 1024;

/**
 * Takes the bytes of a stream in {@link Turns}.
 *
 * @param take reads bytes; it must not throw
 *
 * @example readInTurns(child.stdout, (bytes) => framer.push(bytes));
 */
export function readInTurns(stream: Readable, take: (bytes: Buffer) => void): StreamTurns {
  return new StreamTurns(stream, take);
}

/**
 * Pauses a source whose bytes somebody else chooses after 10 ms of work, until everybody else had their turn of the event loop. The
 * work of chunks that follow each other adds up: Node reads up to 32 of them from a socket before it looks at another one, and frames
 * of a few bytes make seconds of work of that (lines, chunks and events alike).
 *
 * @example
 * const turns = new Turns(controller);
 * const began = performance.now();
 * take(bytes);
 * turns.spend(began);
 */
export class Turns {
  readonly #source: { pause(): void; resume(): void };
  #took = 0;
  #isHeld = false;
  #isWaiting = false;

  constructor(source: { pause(): void; resume(): void }) {
    this.#source = source;
  }

  /** Whether nothing is to be read for now. */
  get isPaused(): boolean {
    return this.#isHeld || this.#isWaiting;
  }

  /** Counts the time since then; at the end of a turn the source is paused. */
  spend(began: number): void {
    this.#took += performance.now() - began;
    if (this.#took >= TURN_MS && !this.#isWaiting) this.#wait();
  }

  /** Reads no further for now. */
  pause(): void {
    this.#isHeld = true;
    this.#source.pause();
  }

  /** Undoes {@link pause}. */
  resume(): void {
    this.#isHeld = false;
    if (!this.#isWaiting) this.#source.resume();
  }

  #wait(): void {
    this.#took = 0;
    this.#isWaiting = true;
    this.#source.pause();
    setImmediate(() => {
      this.#isWaiting = false;
      if (!this.#isHeld) this.#source.resume();
    });
  }
}

/**
 * The bytes of a stream, read in {@link Turns}.
 *
 * @example
 * const turns = readInTurns(socket, (bytes) => parser.push(bytes));
 * peer.onSlow(() => turns.pause());
 */
export class StreamTurns extends Turns {
  readonly #stream: Readable;
  readonly #take: (bytes: Buffer) => void;
  #rest = 0;

  /** @param take reads bytes; it must not throw */
  constructor(stream: Readable, take: (bytes: Buffer) => void) {
    super(stream);
    this.#stream = stream;
    this.#take = take;
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Bytes that have come and were not taken yet. */
  get unread(): number {
    return this.#rest + this.#stream.readableLength;
  }

  #read(chunk: Buffer): void {
    let at = 0;
    do {
      const began = performance.now();
      const end = Math.min(at + SLICE, chunk.length);
      this.#rest = chunk.length - end;
      this.#take(end === chunk.length && at === 0 ? chunk : chunk.subarray(at, end));
      at = end;
      this.spend(began);
    } while (at < chunk.length && !this.isPaused && !this.#stream.destroyed);
    this.#rest = 0;
    if (at === chunk.length || this.#stream.destroyed) return;
    this.#stream.pause();
    this.#stream.unshift(chunk.subarray(at));
  }
}
