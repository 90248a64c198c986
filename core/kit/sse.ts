import { firstBytes, Pieces } from "./chunks.ts";

const LF = 10;
const CR = 13;
const SPACE = 32;
const NONE = Number.POSITIVE_INFINITY;
/** Between the data lines of one event. The standard says LF; our data is always JSON, where a space means the same. */
const JOINT = Buffer.from(" ");
const DATA = Buffer.from("data:");
/** What MCP servers write before each message. */
const EVENT_MESSAGE = Buffer.from("event: message");

/**
 * Receives what a {@link SseParser} finds.
 *
 * @example const sink: SseSink = { event: (data) => read(data), overflow: () => socket.destroy() };
 */
export interface SseSink {
  /** One event; `data` is never concatenated and holds no CR or LF. `length` 0 is an event that only carries an id. */
  event(data: readonly Buffer[], length: number, type: string): void;
  /** An event grew beyond the limit; nothing more will be reported. */
  overflow(length: number): void;
}

/**
 * Event stream parser on bytes (WHATWG HTML, "Interpreting an event stream"): an event of any size costs no copy and no
 * decoding, and a character split between two chunks stays whole.
 *
 * @example
 * const parser = new SseParser({ event: (data) => read(data), overflow: () => socket.destroy() }, maxResult);
 * response.on("data", (chunk) => parser.push(chunk));
 */
export class SseParser {
  /** Id of the last complete event, for `Last-Event-ID`. */
  lastEventId = "";
  /** Reconnection time the server asked for, in milliseconds. */
  retry: number | undefined;
  readonly #sink: SseSink;
  readonly #limit: number;
  readonly #line = new Pieces();
  readonly #data = new Pieces();
  #hasData = false;
  #type = "";
  #id: string | undefined;
  #afterCr = false;
  #start = true;
  #dead = false;

  /** @param limit largest event in bytes */
  constructor(sink: SseSink, limit: number) {
    this.#sink = sink;
    this.#limit = limit;
  }

  /** Takes the next bytes of the stream. */
  push(chunk: Buffer): void {
    let start = 0;
    if (this.#afterCr && chunk.length > 0) {
      this.#afterCr = false;
      if (chunk[0] === LF) start = 1;
    }
    let cr = find(chunk, CR, start);
    while (start < chunk.length && !this.#dead) {
      if (cr < start) cr = find(chunk, CR, start);
      const end = Math.min(find(chunk, LF, start), cr);
      if (end === NONE) return this.#hold(chunk.subarray(start));
      this.#hold(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
      if (end !== cr) continue;
      if (start === chunk.length) this.#afterCr = true;
      else if (chunk[start] === LF) start++;
    }
  }

  #hold(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#line.add(piece);
    const length = this.#line.length + this.#data.length;
    if (length > this.#limit + 8) this.#overflow(length);
  }

  #overflow(length: number): void {
    this.#dead = true;
    this.#sink.overflow(length);
  }

  #endLine(): void {
    let { length } = this.#line;
    let line = this.#line.take();
    if (this.#start) {
      this.#start = false;
      if (firstBytes(line, 3).toString("latin1") === "\u00ef\u00bb\u00bf") {
        line = skip(line, 3);
        length -= 3;
      }
    }
    if (this.#dead) return;
    if (length === 0) return this.#dispatch();
    const start = valueOfData(line);
    if (start > 0) return this.#addData(skip(line, start));
    const whole = line.length === 1 ? line[0]! : Buffer.concat(line);
    if (whole.equals(EVENT_MESSAGE)) this.#type = "message";
    else this.#field(whole.toString("utf8"));
  }

  #addData(pieces: readonly Buffer[]): void {
    if (this.#hasData) this.#data.add(JOINT);
    this.#hasData = true;
    for (const piece of pieces) this.#data.add(piece);
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const from = line.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1;
    const value = colon === -1 ? "" : line.slice(from);
    if (name === "event") this.#type = value;
    else if (name === "data") this.#addData([]);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) this.retry = Number(value);
  }

  #dispatch(): void {
    const { length } = this.#data;
    const data = this.#data.take();
    const type = this.#type;
    const hadData = this.#hasData;
    if (this.#id !== undefined) this.lastEventId = this.#id;
    this.#hasData = false;
    this.#type = "";
    if (hadData) this.#sink.event(data, length, type || "message");
  }
}

function find(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? NONE : at;
}

/** Where the value of a `data:` line begins; 0 for any other line. Text is not made of it: a line is a progress report's price. */
function valueOfData(line: readonly Buffer[]): number {
  const head = line.length === 1 ? line[0]! : firstBytes(line, DATA.length + 1);
  for (let at = 0; at < DATA.length; at++) if (head[at] !== DATA[at]) return 0;
  return head[DATA.length] === SPACE ? DATA.length + 1 : DATA.length;
}

function skip(pieces: readonly Buffer[], count: number): Buffer[] {
  const out: Buffer[] = [];
  let left = count;
  for (const piece of pieces) {
    if (left >= piece.length) left -= piece.length;
    else {
      out.push(left === 0 ? piece : piece.subarray(left));
      left = 0;
    }
  }
  return out;
}
