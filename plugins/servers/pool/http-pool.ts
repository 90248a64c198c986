import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import { setTimer } from "propylon/kit";
import { HEADER_NAME, HEADER_VALUE, readInTurns, type Turns, unbracket } from "propylon/internal";
import { fault, ResponseParser, type ResponseSink } from "./http-parser.ts";

const NOT_ASCII = /[\x80-\xff]/;
/** Connections to one server; a request beyond waits for a free one. */
export const MAX_CONNECTIONS = 1_024;
/** When the kernel first asks a silent peer whether it is there, in milliseconds. */
const PROBE_AFTER_MS = 60_000;

/** What is sent. */
export interface HttpRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string | null;
  /** Whether it takes no connection that had a request before. */
  readonly isFresh?: boolean;
}

/** Steers the request that a reader reads the response of. */
export interface RequestControl {
  /** Whether its connection had a request before, so that what comes may be late for that one. */
  readonly isReused: boolean;
  pause(): void;
  resume(): void;
  /** Closes its connection; the reader gets the error. @param error default: it is not wanted any more */
  abort(error?: Error): void;
  /** Sends a request on the same connection, as soon as the response has been read; absent where connections are not told apart. */
  follow?(request: HttpRequest, reader: ResponseReader): void;
}

/** Reads a response. */
export interface ResponseReader {
  /** There is a connection, and bytes go out from now on. */
  onRequestStart?(control: RequestControl): void;
  /** @param headers names, in lower case, and values in turn */
  onResponseStart?(status: number, headers: readonly string[]): void;
  onResponseData?(chunk: Buffer): void;
  onResponseEnd(): void;
  /** Not after the end; without a start not a byte was written. */
  onResponseError(error: Error): void;
}

/** How connections are made. */
export interface HttpPoolOptions {
  /** For a connection and its handshake, in milliseconds. */
  readonly timeout: number;
  readonly lookup?: LookupFunction;
  readonly secureContext?: SecureContext | undefined;
}

/** Connections to one origin. */
export interface Pool {
  dispatch(request: HttpRequest, reader: ResponseReader): void;
  /** Closes every connection; requests under way fail. */
  destroy(): Promise<void>;
}

/**
 * HTTP/1.1 to one origin, over connections that are kept. Holds nothing back and repeats nothing: the head is made in one string
 * and goes out with the body in one write (0059).
 */
export class HttpPool implements Pool {
  readonly #url: URL;
  readonly #options: HttpPoolOptions;
  readonly #all = new Set<Connection>();
  /** The one used last is used next, so that the others grow old. */
  readonly #idle: Connection[] = [];
  readonly #waiting: Sent[] = [];
  /** Until when idle ones are looked at, as `performance.now()`: one timer, since one for each costs more than the parser. */
  #sweepAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #session: Buffer | undefined;
  #isDestroyed = false;

  constructor(url: URL, options: HttpPoolOptions) {
    this.#url = url;
    this.#options = options;
  }

  dispatch(request: HttpRequest, reader: ResponseReader): void {
    const sent = this.prepare(request, reader);
    if (!sent) return;
    const free = sent.isFresh ? undefined : this.#takeIdle();
    if (free) free.send(sent);
    else if (this.#all.size < MAX_CONNECTIONS) this.#open(sent);
    else {
      this.#waiting.push(sent);
      // Room for a new one.
      if (sent.isFresh) void this.#idle.shift()?.destroy(closed());
    }
  }

  /** What goes out; its reader gets the error of what cannot. */
  prepare(request: HttpRequest, reader: ResponseReader): Sent | undefined {
    try {
      if (this.#isDestroyed) throw closed();
      const bytes = request.body === null ? 0 : Buffer.byteLength(request.body);
      return new Sent(headOf(request, this.#url.host, bytes), bytes, request, reader);
    } catch (error) {
      reader.onResponseError(error as Error);
      return undefined;
    }
  }

  /** Closes every connection; requests under way fail. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    clearTimeout(this.#timer);
    for (const sent of this.#waiting.splice(0)) sent.reader.onResponseError(closed());
    await Promise.all(Array.from(this.#all, (connection) => connection.destroy(closed())));
  }

  /** A connection is free again. */
  release(connection: Connection): void {
    if (this.#waiting[0]?.isFresh) return void connection.destroy(closed());
    const next = this.#waiting.shift();
    if (next) return connection.send(next);
    this.#idle.push(connection);
    this.#sweepBy(connection.idleUntil);
  }

  /** A connection is gone. */
  forget(connection: Connection): void {
    this.#all.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    const next = this.#waiting.shift();
    if (next) this.#open(next);
  }

  #takeIdle(): Connection | undefined {
    const now = performance.now();
    for (let free = this.#idle.pop(); free; free = this.#idle.pop()) {
      if (free.socket.destroyed) continue;
      if (free.idleUntil > now) return free;
      void free.destroy(closed());
    }
    return undefined;
  }

  #sweepBy(time: number): void {
    if (time >= this.#sweepAt) return;
    this.#sweepAt = time;
    clearTimeout(this.#timer);
    this.#timer = setTimer(() => this.#sweep(), Math.max(1, time - performance.now())).unref();
  }

  /** Closes those whose time is over, and looks again when that of the next one is. */
  #sweep(): void {
    this.#sweepAt = Infinity;
    const now = performance.now();
    let next = Infinity;
    for (const connection of this.#idle) {
      if (connection.idleUntil <= now) void connection.destroy(closed());
      else next = Math.min(next, connection.idleUntil);
    }
    this.#sweepBy(next);
  }

  #open(first: Sent): void {
    this.#all.add(new Connection(this, this.connect(), this.#options.timeout, first));
  }

  /** A socket that is on its way to the server. */
  protected connect(): Socket {
    const { hostname, port, protocol } = this.#url;
    const host = unbracket(hostname);
    const { lookup, secureContext } = this.#options;
    const isTls = protocol === "https:";
    const options = {
      host,
      port: Number(port) || (isTls ? 443 : 80),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
      ...(lookup && { lookup }),
    };
    if (!isTls) return connect(options);
    const socket = connectTls({
      ...options,
      ALPNProtocols: ["http/1.1"],
      ...(isIP(host) === 0 && { servername: host }),
      ...(secureContext && { secureContext }),
      ...(this.#session && { session: this.#session }),
    });
    return socket.on("session", (session: Buffer) => (this.#session = session));
  }
}

/** A request with the one who reads its response. */
class Sent implements RequestControl {
  readonly head: string;
  readonly body: string;
  /** Of the body; as many as characters is ASCII. */
  readonly bytes: number;
  readonly reader: ResponseReader;
  readonly isFresh: boolean;
  /** While it is under way. */
  connection: Connection | undefined;
  isReused = false;
  /** What its connection carries next. */
  next: Sent | undefined;

  constructor(head: string, bytes: number, { body, isFresh }: HttpRequest, reader: ResponseReader) {
    this.head = head;
    this.bytes = bytes;
    this.body = body ?? "";
    this.reader = reader;
    this.isFresh = isFresh === true;
  }

  pause(): void {
    this.connection?.turns.pause();
  }

  resume(): void {
    this.connection?.turns.resume();
  }

  abort(error = new Error("not wanted any more")): void {
    void this.connection?.destroy(error);
  }

  follow(request: HttpRequest, reader: ResponseReader): void {
    this.next = this.connection!.pool.prepare(request, reader);
  }
}

/** One connection, with one request at a time. */
class Connection implements ResponseSink {
  readonly socket: Socket;
  readonly turns: Turns;
  readonly pool: HttpPool;
  /** While nothing is under way: when it is given up, as `performance.now()`. */
  idleUntil = 0;
  readonly #parser = new ResponseParser(this);
  readonly #timer: NodeJS.Timeout;
  readonly #gone: Promise<void>;
  #sent: Sent | undefined;
  #isUsed = false;
  #error: Error | undefined;

  constructor(pool: HttpPool, socket: Socket, timeout: number, first: Sent) {
    this.pool = pool;
    this.socket = socket;
    this.#sent = first;
    this.#timer = setTimer(() => {
      void this.destroy(fault("ETIMEDOUT", "no connection in time"));
    }, timeout);
    socket
      .once("encrypted" in socket ? "secureConnect" : "connect", () => {
        clearTimeout(this.#timer);
        this.send(first);
      })
      .on("end", () => this.#read(() => this.#parser.finish()))
      .on("end", () => void this.destroy(closed()))
      .on("error", (error) => (this.#error ??= error));
    this.turns = readInTurns(socket, (bytes) => this.#read(() => this.#parser.push(bytes)));
    this.#gone = new Promise((resolve) => socket.once("close", () => resolve(this.#onClose())));
  }

  send(sent: Sent): void {
    this.#sent = sent;
    sent.connection = this;
    sent.isReused = this.#isUsed;
    this.#isUsed = true;
    sent.reader.onRequestStart?.(sent);
    if (this.socket.destroyed) return;
    this.#parser.expect();
    writeRequest(this.socket, sent);
  }

  /** Resolves when it is gone. */
  destroy(error: Error): Promise<void> {
    this.#error ??= error;
    this.#parser.stop();
    this.socket.destroy();
    return this.#gone;
  }

  onHead(status: number, headers: readonly string[]): void {
    this.#sent!.reader.onResponseStart?.(status, headers);
  }

  onBody(chunk: Buffer): void {
    this.#sent!.reader.onResponseData?.(chunk);
  }

  onEnd(idleMs: number): void {
    const sent = this.#sent!;
    this.#sent = undefined;
    // Before anybody else's request goes out: the reader may find that this was not its response.
    sent.reader.onResponseEnd();
    sent.connection = undefined;
    const { socket, turns } = this;
    // A server may answer before it has read the request; what it did not read would stand before the next one. What came behind
    // the answer would be taken for the next one.
    if (idleMs === 0 || socket.writableLength > 0 || turns.unread > 0 || socket.destroyed) {
      void this.destroy(closed());
      sent.next?.reader.onResponseError(closed());
    } else {
      this.idleUntil = performance.now() + idleMs;
      turns.resume();
      if (sent.next) this.send(sent.next);
      else this.pool.release(this);
    }
  }

  #read(step: () => void): void {
    try {
      step();
    } catch (error) {
      void this.destroy(error as Error);
    }
  }

  #onClose(): void {
    clearTimeout(this.#timer);
    this.pool.forget(this);
    const sent = this.#sent;
    this.#sent = undefined;
    if (sent) sent.connection = undefined;
    sent?.reader.onResponseError(this.#error ?? closed());
  }
}

/** Heads are latin1 and bodies are UTF-8, in one write; a text that is both goes out as latin1, which Node copies as it is. */
function writeRequest(socket: Socket, { head, body, bytes }: Sent): void {
  if (bytes === body.length) socket.write(head + body, "latin1");
  else if (NOT_ASCII.test(head))
    socket.write(Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(body)]));
  else socket.write(head + body);
}

/** @throws {Error} `ERR_INVALID_CHAR` when a header could be read as more than one */
function headOf({ method, path, headers, body }: HttpRequest, host: string, bytes: number): string {
  let lines = "";
  let hasHost = false;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw fault("ERR_INVALID_CHAR", `invalid header "${name}"`);
    if (name.length === 4 && name.toLowerCase() === "host") hasHost = true;
    lines += `${name}: ${value}\r\n`;
  }
  if (!hasHost) lines = `host: ${host}\r\n${lines}`;
  if (body !== null) lines += `content-length: ${bytes}\r\n`;
  return `${method} ${path} HTTP/1.1\r\n${lines}\r\n`;
}

function closed(): Error {
  return fault("ERR_STREAM_PREMATURE_CLOSE", "the connection was closed");
}
