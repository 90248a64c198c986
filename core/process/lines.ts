import { lastBytes } from "../call/chunks.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Bytes kept of a line that is too long, so that its owner can find out which call it answered. */
const HEAD = 4_096;

/** Bytes kept of its end, for the same purpose: many servers write the id last. */
const TAIL = 256;

/** Below this, a piece of an unfinished line is copied: a Buffer object per byte would cost a hundred times its content. */
const SMALL = 2_048;
const BLOCK = 16_384;

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
  #parts: Buffer[] = [];
  #kept = 0;
  #length = 0;
  #last = 0;
  /** The end of a line that is being dropped, with a byte of grace. */
  #tail: Buffer | undefined;
  #block: Buffer | undefined;
  #used = 0;

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
    const parts = this.#parts;
    this.#seal();
    const length = this.#last === CARRIAGE_RETURN ? this.#length - 1 : this.#length;
    if (length > this.#max) this.#events.onOversize(head(parts, length), length, this.#end(length));
    else if (length > 0)
      this.#events.onLine(length === this.#length ? parts : withoutLast(parts), length);
    this.#reset();
  }

  #add(segment: Buffer): void {
    this.#length += segment.length;
    this.#last = segment[segment.length - 1] ?? 0;
    // One byte of grace: it may be the carriage return.
    if (this.#length > this.#max + 1) this.#drop(segment);
    else this.#keep(segment);
  }

  /** The last bytes of a line that was too long, without the carriage return. */
  #end(length: number): Buffer {
    const end = this.#tail ?? lastBytes(this.#parts, TAIL + 1);
    return end.subarray(0, end.length - (this.#length - length)).subarray(-Math.min(TAIL, length));
  }

  #drop(segment: Buffer): void {
    if (this.#tail === undefined) {
      this.#seal();
      this.#tail = Buffer.alloc(TAIL + 1);
      roll(this.#tail, lastBytes(this.#parts, TAIL + 1));
    }
    roll(this.#tail, segment);
    if (this.#kept < HEAD) this.#keep(segment.subarray(0, HEAD));
    if (this.#kept <= 2 * HEAD) return;
    this.#seal();
    this.#parts = [head(this.#parts, HEAD)];
    this.#kept = HEAD;
  }

  #keep(segment: Buffer): void {
    this.#kept += segment.length;
    if (segment.length >= SMALL) {
      this.#seal();
      this.#parts.push(segment);
      return;
    }
    if (this.#block !== undefined && this.#used + segment.length > BLOCK) this.#seal();
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK);
    this.#used += segment.copy(this.#block, this.#used);
  }

  /** Makes the copied pieces the next part. */
  #seal(): void {
    if (this.#block !== undefined) this.#parts.push(this.#block.subarray(0, this.#used));
    this.#block = undefined;
    this.#used = 0;
  }

  #reset(): void {
    this.#parts = [];
    this.#kept = 0;
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

/** The first bytes of a line: at most 4 KiB of its `length`. */
function head(parts: readonly Buffer[], length: number): Buffer {
  const few: Buffer[] = [];
  for (let size = 0, index = 0; size < HEAD && index < parts.length; index++) {
    const part = parts[index]!;
    few.push(part);
    size += part.length;
  }
  return Buffer.concat(
    few,
    Math.min(
      length,
      HEAD,
      few.reduce((sum, part) => sum + part.length, 0),
    ),
  );
}

/** A line's chunks without their last byte. */
function withoutLast(parts: Buffer[]): Buffer[] {
  const last = parts.pop()!;
  if (last.length > 1) parts.push(last.subarray(0, -1));
  return parts;
}
