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
 * Reads a stream whose bytes somebody else chooses, in turns of the event loop. Node reads up to 32 chunks of 64 KiB from a socket
 * before it looks at another one, and frames of a few bytes make seconds of work of that (lines, chunks and events alike). Here
 * the stream is paused after 10 ms of work and goes on when everybody else had their turn.
 *
 * @example
 * const turns = readInTurns(socket, (bytes) => parser.push(bytes));
 * peer.onSlow(() => turns.pause());
 */
export class Turns {
  readonly #stream: Readable;
  readonly #take: (bytes: Buffer) => void;
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
    const began = performance.now();
    let at = 0;
    let took = 0;
    do {
      const end = Math.min(at + SLICE, chunk.length);
      this.#rest = chunk.length - end;
      this.#take(end === chunk.length && at === 0 ? chunk : chunk.subarray(at, end));
      at = end;
      took = performance.now() - began;
    } while (at < chunk.length && took < TURN_MS && !this.#isHeld && !this.#stream.destroyed);
    this.#rest = 0;
    if (this.#stream.destroyed) return;
    if (took >= TURN_MS) this.#wait();
    if (at === chunk.length) return;
    this.#stream.pause();
    this.#stream.unshift(chunk.subarray(at));
  }

  #wait(): void {
    this.#isWaiting = true;
    this.#stream.pause();
    setImmediate(() => {
      this.#isWaiting = false;
      if (!this.#isHeld) this.#stream.resume();
    });
  }
}
