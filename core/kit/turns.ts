import type { Readable } from "node:stream";

/** Longest time that one stream may hold the event loop at once, in milliseconds. */
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
export function readInTurns(stream: Readable, take: (bytes: Buffer) => void): Turns {
  return new Turns(stream, take);
}

/**
 * Reads a stream whose bytes somebody else chooses, in turns of the event loop: it is paused after 10 ms of work and goes on when
 * everybody else had their turn. The work of chunks that follow each other adds up: Node reads up to 32 of them from a socket before
 * it looks at another one, and frames of a few bytes make seconds of work of that (lines, chunks and events alike).
 *
 * @example
 * const turns = readInTurns(socket, (bytes) => parser.push(bytes));
 * peer.onSlow(() => turns.pause());
 */
export class Turns {
  readonly #stream: Readable;
  readonly #take: (bytes: Buffer) => void;
  #took = 0;
  #isHeld = false;
  #isWaiting = false;
  #rest = 0;

  /** @param take reads bytes; it must not throw */
  constructor(stream: Readable, take: (bytes: Buffer) => void) {
    this.#stream = stream;
    this.#take = take;
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Bytes that have come and were not taken yet. */
  get unread(): number {
    return this.#rest + this.#stream.readableLength;
  }

  /** Reads no further for now. */
  pause(): void {
    this.#isHeld = true;
    this.#stream.pause();
  }

  /** Undoes {@link pause}. */
  resume(): void {
    this.#isHeld = false;
    if (!this.#isWaiting) this.#stream.resume();
  }

  #read(chunk: Buffer): void {
    let at = 0;
    do {
      const began = performance.now();
      const end = Math.min(at + SLICE, chunk.length);
      this.#rest = chunk.length - end;
      this.#take(end === chunk.length && at === 0 ? chunk : chunk.subarray(at, end));
      at = end;
      this.#took += performance.now() - began;
      if (this.#took >= TURN_MS) this.#wait();
    } while (at < chunk.length && !this.#isWaiting && !this.#isHeld && !this.#stream.destroyed);
    this.#rest = 0;
    if (at === chunk.length || this.#stream.destroyed) return;
    this.#stream.pause();
    this.#stream.unshift(chunk.subarray(at));
  }

  #wait(): void {
    this.#took = 0;
    this.#isWaiting = true;
    this.#stream.pause();
    setImmediate(() => {
      this.#isWaiting = false;
      if (!this.#isHeld) this.#stream.resume();
    });
  }
}
