/** Largest head of a response, its trailers included, in bytes: what Node's own reader allows. */
const MAX_HEAD = 16 * 1024;
/** Largest line that gives the size of a chunk, in bytes; what follows the size is not read. */
const MAX_SIZE_LINE = 1_024;
/** Interim responses (1xx) before the final one. */
const MAX_INTERIM = 16;
/** How long an idle connection is kept when its server names no time, and at most, in milliseconds. */
const KEEP_ALIVE_MS = { byDefault: 4_000, max: 600_000 };
/** A connection is given up this long before its server does that: a request in between would be lost. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** Blanks around the value are taken off later: here, 16 KB of them could be shared out in 100 million ways. */
const FIELD_LINE = /^([!#$%&'*+\-.^_`|~\dA-Za-z]+):([\t\x20-\x7e\x80-\xff]*)$/;
const SIZE_LINE =
  /^([\da-fA-F]{1,12})(?:;[!#$%&'*+\-.^_`|~\dA-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~\dA-Za-z]+|"[\t\x20!#-[\]-~]*"))?)*$/;

/** What says where a body ends. */
const FRAMING = /^(?:content-length|transfer-encoding)$/;

/** Lines that come with nearly every response, and what they say; a server that sends others all the time makes it start over. */
const LINES = new Map<string, Field>();
const MAX_LINES = 512;
const MAX_LINE = 256;

/** A header line. */
interface Field {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

/** What a {@link ResponseParser} finds. */
export interface ResponseSink {
  /** The final status, and names (in lower case) and values in turn. */
  onHead(status: number, headers: readonly string[]): void;
  onBody(chunk: Buffer): void;
  /** @param idleMs how long the connection may wait for another request; 0 = it must not be used again */
  onEnd(idleMs: number): void;
}

type State = "head" | "length" | "size" | "chunk" | "chunk-end" | "trailers" | "to-end" | "done";

/**
 * Reads the responses of one connection (RFC 9112), one after the other. What two readers could read differently is refused: two
 * lengths, a length beside chunks, folded lines, a lone CR or LF (RFC 9112 section 11.2).
 */
export class ResponseParser {
  readonly #sink: ResponseSink;
  #state: State = "done";
  /** A line that is not complete yet. */
  #rest: Buffer | undefined;
  /** Bytes to come of the body, or of the chunk. */
  #left = 0;
  #interim = 0;
  #idleMs = 0;
  #isStopped = false;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** A request goes out: the next bytes are its response. */
  expect(): void {
    this.#state = "head";
    this.#interim = 0;
  }

  /** Reads no further. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @throws {Error} with a `code` when this is not a response, or one that must not be trusted */
  push(bytes: Buffer): void {
    const chunk = this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes;
    this.#rest = undefined;
    let at = 0;
    while (at < chunk.length && !this.#isStopped) {
      const next = this.#step(chunk, at);
      if (next === undefined) {
        this.#rest = chunk.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** The server closed the connection. @throws {Error} with a `code` when the response is not complete */
  finish(): void {
    if (this.#state === "to-end") return this.#end(0);
    if (this.#state === "length")
      throw fault("ERR_HTTP_CONTENT_LENGTH_MISMATCH", "the body is shorter than its length");
    if (this.#state !== "done")
      throw fault("ERR_STREAM_PREMATURE_CLOSE", "the connection ended within a response");
  }

  /** Reads one piece from `at` on; where the next begins, or undefined when this one is not complete. */
  #step(chunk: Buffer, at: number): number | undefined {
    const state = this.#state;
    if (state === "head") return this.#readHead(chunk, at);
    if (state === "size") return this.#readSize(chunk, at);
    if (state === "chunk-end") return this.#readChunkEnd(chunk, at);
    if (state === "trailers") return this.#readTrailers(chunk, at);
    if (state === "done") throw fault("HPE_UNEXPECTED_DATA", "bytes without a request");
    return this.#readBody(chunk, at);
  }

  #readHead(chunk: Buffer, at: number): number | undefined {
    const end = endOf("\r\n\r\n", chunk, at, MAX_HEAD);
    if (end === undefined) return undefined;
    const next = end + 4;
    const lines = chunk.toString("latin1", at, end).split("\r\n");
    const line = STATUS_LINE.exec(lines[0]!);
    if (!line) throw fault("HPE_INVALID_CONSTANT", "no status line");
    const status = Number(line[2]);
    const headers = readFields(lines, 1);
    if (status >= 200) this.#onFinal(status, headers, line[1] === "0", chunk.length - next);
    else this.#onInterim(status, headers, line[1] === "0");
    return next;
  }

  /** One whose length is not certain, or that ends its connection, could be read as the final one. */
  #onInterim(status: number, headers: readonly string[], isOld: boolean): void {
    const { isClosing } = framingOf(headers, isOld);
    // Nobody asked to switch protocols.
    if (status === 101 || isClosing || ++this.#interim > MAX_INTERIM)
      throw fault("HPE_INVALID_STATUS", "an interim response too many");
  }

  #onFinal(status: number, headers: readonly string[], isOld: boolean, behind: number): void {
    const framing = framingOf(headers, isOld);
    const { length, isChunked } = framing;
    const isEmpty = status === 204 || status === 304 || length === 0;
    this.#idleMs = framing.isClosing ? 0 : idleTime(framing.keepAlive);
    this.#left = length ?? 0;
    if (isEmpty) this.#state = "done";
    else if (isChunked) this.#state = "size";
    else if (length !== undefined) this.#state = "length";
    else {
      this.#state = "to-end";
      this.#idleMs = 0;
    }
    this.#sink.onHead(status, headers);
    if (isEmpty) this.#end(behind);
  }

  #readBody(chunk: Buffer, at: number): number {
    const isToEnd = this.#state === "to-end";
    const end = isToEnd ? chunk.length : Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    const isWhole = this.#left === 0 && this.#state === "length";
    if (this.#left === 0 && this.#state === "chunk") this.#state = "chunk-end";
    this.#sink.onBody(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    if (isWhole) this.#end(chunk.length - end);
    return end;
  }

  #readSize(chunk: Buffer, at: number): number | undefined {
    const end = endOf("\r\n", chunk, at, MAX_SIZE_LINE);
    if (end === undefined) return undefined;
    const line = SIZE_LINE.exec(chunk.toString("latin1", at, end));
    if (!line) throw fault("HPE_INVALID_CHUNK_SIZE", "no chunk size");
    this.#left = parseInt(line[1]!, 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk";
    return end + 2;
  }

  #readChunkEnd(chunk: Buffer, at: number): number | undefined {
    if (chunk[at] !== 13 || (at + 1 < chunk.length && chunk[at + 1] !== 10))
      throw fault("HPE_STRICT", "a chunk is longer than its size");
    if (at + 1 === chunk.length) return undefined;
    this.#state = "size";
    return at + 2;
  }

  /** Nothing in a trailer is used, and nothing in it may say where a body ends (RFC 9110 section 6.5.1). */
  #readTrailers(chunk: Buffer, at: number): number | undefined {
    if (chunk.toString("latin1", at, at + 2) === "\r\n") {
      this.#end(chunk.length - at - 2);
      return at + 2;
    }
    const end = endOf("\r\n\r\n", chunk, at, MAX_HEAD);
    if (end === undefined) return undefined;
    const trailers = readFields(chunk.toString("latin1", at, end).split("\r\n"), 0);
    if (trailers.some((name, index) => index % 2 === 0 && FRAMING.test(name)))
      throw fault("HPE_INVALID_HEADER_TOKEN", "a trailer that belongs into the head");
    this.#end(chunk.length - end - 4);
    return end + 4;
  }

  /** @param behind bytes after the response, which nobody asked for: the connection cannot be trusted any more */
  #end(behind: number): void {
    if (this.#isStopped) return;
    this.#state = "done";
    this.#sink.onEnd(behind > 0 ? 0 : this.#idleMs);
  }
}

/** Where `mark` stands from `at` on, or undefined when it is still to come. */
function endOf(mark: string, chunk: Buffer, at: number, limit: number): number | undefined {
  const end = chunk.indexOf(mark, at, "latin1");
  if ((end === -1 ? chunk.length : end) - at > limit)
    throw fault("HPE_HEADER_OVERFLOW", "a head or a line is too large");
  return end === -1 ? undefined : end;
}

function readFields(lines: readonly string[], from: number): string[] {
  const fields: string[] = [];
  for (let index = from; index < lines.length; index++) {
    const { name, value } = LINES.get(lines[index]!) ?? readField(lines[index]!);
    fields.push(name, value);
  }
  return fields;
}

function readField(line: string): Field {
  const field = FIELD_LINE.exec(line);
  if (!field) throw fault("HPE_INVALID_HEADER_TOKEN", "an invalid header line");
  const read = { name: field[1]!.toLowerCase(), value: trimBlanks(field[2]!) };
  if (!FRAMING.test(read.name)) return remember(line, read);
  // Some readers take a tab for a part of the value.
  if (field[2]!.includes("\t")) throw fault("HPE_INVALID_HEADER_TOKEN", "a tab in a length");
  return read;
}

/** Copies what it keeps: a part of a string holds the whole of it, which is a head of up to 16 KB. */
function remember(line: string, { name, value }: Field): Field {
  const field = { name: copy(name), value: copy(value) };
  if (LINES.size >= MAX_LINES) LINES.clear();
  if (line.length <= MAX_LINE) LINES.set(copy(line), field);
  return field;
}

function copy(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Without the spaces and tabs around it, and no other white space (RFC 9110 section 5.6.3). */
function trimBlanks(text: string): string {
  let from = 0;
  let end = text.length;
  while (from < end && isBlank(text.charCodeAt(from))) from++;
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(from, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

/** What a head says of its body and of its connection. */
interface Framing {
  readonly length: number | undefined;
  readonly isChunked: boolean;
  /** Whether the connection ends with this response (RFC 9112 section 9.3). */
  readonly isClosing: boolean;
  /** The first `Keep-Alive`. */
  readonly keepAlive: string | undefined;
}

/** How the body ends (RFC 9112 section 6.3), and whether the connection stays. */
function framingOf(headers: readonly string[], isOld: boolean): Framing {
  let length: string | undefined;
  let coding: string | undefined;
  let connection = "";
  let keepAlive: string | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    const value = headers[index + 1]!;
    switch (headers[index]) {
      case "content-length":
        if (length !== undefined) throw uncertainLength();
        length = value;
        break;
      case "transfer-encoding":
        if (coding !== undefined) throw uncertainCoding();
        coding = value;
        break;
      case "connection":
        connection += `,${value}`;
        break;
      case "keep-alive":
        keepAlive ??= value;
    }
  }
  const isChunked = coding !== undefined;
  if (isChunked && (isOld || length !== undefined || !/^chunked$/i.test(coding!)))
    throw uncertainCoding();
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw uncertainLength();
  const isClosing = isLast(connection.toLowerCase(), isOld);
  return {
    length: length === undefined ? undefined : Number(length),
    isChunked,
    isClosing,
    keepAlive,
  };
}

function uncertainCoding(): Error {
  return fault("HPE_INVALID_TRANSFER_ENCODING", "the length of the body is not certain");
}

function uncertainLength(): Error {
  return fault("HPE_INVALID_CONTENT_LENGTH", "the length of the body is not certain");
}

/** @param connection what is asked of the connection, in lower case */
function isLast(connection: string, isOld: boolean): boolean {
  if (/(?:^|,)[\t ]*close[\t ]*(?:,|$)/.test(connection)) return true;
  return isOld && !/(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/.test(connection);
}

/** How long the connection may wait for another request, in milliseconds. */
function idleTime(keepAlive: string | undefined): number {
  const seconds = /timeout=(\d{1,6})/i.exec(keepAlive ?? "")?.[1];
  if (seconds === undefined) return KEEP_ALIVE_MS.byDefault;
  const idleMs = Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS;
  return Math.max(0, Math.min(idleMs, KEEP_ALIVE_MS.max));
}

/** The first header of this name (in lower case) among names and values in turn. */
export function valueOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2)
    if (headers[index] === name) return headers[index + 1];
  return undefined;
}

/** Every header of this name (in lower case) among names and values in turn. */
export function valuesOf(headers: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < headers.length; index += 2)
    if (headers[index] === name) values.push(headers[index + 1]!);
  return values;
}

/** An error with a code that says what went wrong with a connection. */
export function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
