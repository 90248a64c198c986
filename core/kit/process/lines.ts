import { firstBytes, lastBytes, Pieces } from "../chunks.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Bytes kept of a line that is too long, so that its owner can find out which call it answered. */
const HEAD = 4_096;

/** Bytes kept of its end, for the same purpose: many servers write the id last. */
const TAIL = 256;

/** What a {@link LineFramer} reports. */
export interface LineEvents {
  /** A whole line as its chunks, without the newline and a carriage return before it; never empty. */
  onLine(chunks: readonly Buffer[], length: number): void;
  /**
   * A line above the limit has ended; `head` is its first bytes (at least 4 KiB where it has as many), `tail` its last 256,
   * `length` all of them.
   */
  onOversize(head: Buffer, length: number, tail: Buffer): void;
}

/**
 * Cuts a byte stream into lines in linear time. Bytes are neither decoded nor joined, so a character split over chunks stays
 * whole and a line of 50 MB costs no more than its chunks. A line above `max` bytes is dropped while it streams by; the
 * lines after it are not affected. Empty lines are skipped; an unfinished last line is never reported.
 */
export class LineFramer {
  readonly #max: number;
  readonly #events: LineEvents;
  readonly #kept = new Pieces();
  #length = 0;
  #last = 0;
  /** The end of a line that is being dropped, with a byte of grace. */
  #tail: Buffer | undefined;

  /** @param max longest line in bytes, without its newline and carriage return */
  constructor(max: number, events: LineEvents) {
    this.#max = max;
    this.#events = events;
  }

  /** Takes the next bytes of the stream; reports every line that ends in them before it returns. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#length === 0) this.#finishWithin(chunk, start, end);
      else this.#finish(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) this.#add(start === 0 ? chunk : chunk.subarray(start));
  }

  /** The usual case: the whole line lies in one chunk. */
  #finishWithin(chunk: Buffer, start: number, newline: number): void {
    const end = newline > start && chunk[newline - 1] === CARRIAGE_RETURN ? newline - 1 : newline;
    const length = end - start;
    if (length === 0) return;
    if (length <= this.#max) this.#events.onLine([chunk.subarray(start, end)], length);
    else {
      const line = chunk.subarray(start, end);
      this.#events.onOversize(line.subarray(0, HEAD), length, line.subarray(-TAIL));
    }
  }

  #finish(segment: Buffer): void {
    if (segment.length > 0) this.#add(segment);
    const parts = this.#kept.take();
    const length = this.#last === CARRIAGE_RETURN ? this.#length - 1 : this.#length;
    if (length > this.#max)
      this.#events.onOversize(
        firstBytes(parts, Math.min(length, HEAD)),
        length,
        this.#end(parts, length),
      );
    else if (length > 0)
      this.#events.onLine(length === this.#length ? parts : withoutLast(parts), length);
    this.#reset();
  }

  #add(segment: Buffer): void {
    this.#length += segment.length;
    this.#last = segment[segment.length - 1] ?? 0;
    // One byte of grace: it may be the carriage return.
    if (this.#length > this.#max + 1) this.#drop(segment);
    else this.#kept.add(segment);
  }

  /** The last bytes of a line that was too long, without the carriage return. */
  #end(parts: readonly Buffer[], length: number): Buffer {
    const end = this.#tail ?? lastBytes(parts, TAIL + 1);
    return end.subarray(0, end.length - (this.#length - length)).subarray(-Math.min(TAIL, length));
  }

  #drop(segment: Buffer): void {
    if (this.#tail === undefined) {
      const parts = this.#kept.take();
      this.#tail = Buffer.alloc(TAIL + 1);
      roll(this.#tail, lastBytes(parts, TAIL + 1));
      this.#kept.add(Buffer.from(firstBytes(parts, HEAD)));
    }
    roll(this.#tail, segment);
    if (this.#kept.length < HEAD) this.#kept.add(Buffer.from(segment.subarray(0, HEAD)));
  }

  #reset(): void {
    this.#length = 0;
    this.#last = 0;
    this.#tail = undefined;
  }
}

/** Moves the end of more bytes into a buffer of fixed size, from the right. */
function roll(tail: Buffer, segment: Buffer): void {
  const piece = segment.subarray(-tail.length);
  tail.copyWithin(0, piece.length);
  piece.copy(tail, tail.length - piece.length);
}

/** A line's chunks without their last byte. */
function withoutLast(parts: Buffer[]): Buffer[] {
  const last = parts.pop()!;
  if (last.length > 1) parts.push(last.subarray(0, -1));
  return parts;
}
