import { write, writeSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** What a stalled reader may leave unwritten before lines are lost, in bytes. */
const MAX_UNWRITTEN = 16 * 1_048_576;

/** Lines are written together, when this many bytes are there or this many milliseconds have passed: a write costs more than a line. */
const BATCH = { bytes: 65_536, ms: 100 };

/** How long the end of the process waits for a reader that does not read, in milliseconds. */
const LAST_MS = 500;

const NOTHING = Buffer.alloc(0);

/**
 * Standard output of this process, written in the background; what is left is written when the process exits. What cannot be written
 * is given up, e.g. to a full disk, a closed terminal or a reader that is gone: there is nobody left to tell, and the streams of pino
 * would try again until the process is killed. Lines that were lost are counted, and told with the next that is not.
 */
export class StandardOutput {
  #lines = "";
  /** What was taken from the lines, of which the first bytes are in the hands of the system. */
  #writing: Buffer = NOTHING;
  #inFlight = 0;
  #isBusy = false;
  #timer: NodeJS.Timeout | undefined;
  #lost = 0;
  #told = 0;
  readonly #onWritten: (() => void)[] = [];
  readonly #report: (lost: number) => string;

  /** @param report makes the line that says how many were lost since the start */
  constructor(report: (lost: number) => string) {
    this.#report = report;
    process.on("exit", () => this.flushSync());
  }

  write(line: string): void {
    if (this.#lines.length + this.#writing.length + line.length > MAX_UNWRITTEN)
      return void (this.#lost += countLines(line));
    this.#lines += line;
    this.#batch();
  }

  /** @param done is called when everything is written, or given up; never while a reader stalls */
  flush(done: () => void): void {
    this.#onWritten.push(done);
    this.#begin();
  }

  /** Writes what is left at once; waits for a reader that stalls, but not for long. */
  flushSync(): void {
    const left = Buffer.concat([this.#writing.subarray(this.#inFlight), this.#take()]);
    this.#writing = this.#writing.subarray(0, this.#inFlight);
    writeAll(left);
  }

  #batch(): void {
    if (this.#lines.length >= BATCH.bytes) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), BATCH.ms).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isBusy) return;
    if (this.#lines === "") {
      for (const done of this.#onWritten.splice(0)) done();
      return;
    }
    this.#writing = this.#take();
    this.#isBusy = true;
    this.#send();
  }

  #take(): Buffer {
    if (this.#lost > this.#told) this.#lines += this.#report((this.#told = this.#lost));
    const bytes = Buffer.from(this.#lines);
    this.#lines = "";
    return bytes;
  }

  #send(): void {
    this.#inFlight = Math.min(this.#writing.length, BATCH.bytes);
    write(1, this.#writing, 0, this.#inFlight, null, (error, written) => {
      this.#inFlight = 0;
      if (isFull(error)) return void setTimeout(() => this.#send(), BATCH.ms).unref();
      if (error) this.#lost += countLines(String(this.#writing));
      this.#writing = error ? NOTHING : this.#writing.subarray(written);
      if (this.#writing.length > 0) return this.#send();
      this.#isBusy = false;
      // What came meanwhile is a batch of its own: written at once, it would be a few lines.
      if (this.#onWritten.length > 0) this.#begin();
      else if (this.#lines !== "") this.#batch();
    });
  }
}

/** Writes a text for a person at once, who reads nothing else meanwhile. Given up as {@link StandardOutput} does. */
export function writeNow(text: string): void {
  writeAll(Buffer.from(text));
}

const countLines = (text: string): number => text.split("\n").length - 1;

function writeAll(bytes: Buffer): void {
  const deadline = performance.now() + LAST_MS;
  let left = bytes;
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if (!isFull(error) || performance.now() > deadline) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** Whether there is a reader that has not read yet what it was sent. */
function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
