import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Principal } from "../kit/types.ts";
import type { Backlog, Unread } from "../kit/backlog.ts";
import { GatewayError } from "../kit/errors.ts";

/** How long an unused connection stays open: above the 60 s after which common load balancers drop one, so that they close first. */
export const KEEP_ALIVE_MS = 75_000;
/** Longest answer whose text is copied behind its head: a socket takes it without asking for a pause. */
const WHOLE = 16 * 1024;
/** Bytes that may be on their way without being looked at: what the kernel takes a moment later. */
const UNNOTED = 64 * 1024;

/** A response of a listener: knows whom it is for, and tells when its bytes are not taken at once, whichever face wrote them. */
export class HttpAnswer extends ServerResponse implements Unread {
  /** Set by the listener; a test may make one without. */
  backlog: Backlog | undefined = undefined;
  /** Who asked, once that is known. */
  principal: Principal | undefined = undefined;
  #isNoted = false;

  override write(
    chunk: unknown,
    encoding?: BufferEncoding | ((error: Error | null | undefined) => void),
    callback?: (error: Error | null | undefined) => void,
  ): boolean {
    if (isText(chunk, encoding, callback) && this.#sendHeadWith(chunk)) return true;
    const isTaken = super.write(chunk, encoding as BufferEncoding, callback);
    if (!isTaken) this.#note();
    return isTaken;
  }

  // Node's own signatures: the arguments are passed on as they came.
  override end(chunk?: unknown, encoding?: unknown, callback?: unknown): this {
    if (isText(chunk, encoding, callback) && this.#sendWhole(chunk)) return this;
    super.end(chunk, encoding as BufferEncoding, callback as () => void);
    if (this.writableLength > UNNOTED) this.#note();
    return this;
  }

  get owner(): string | undefined {
    return this.principal?.ref;
  }

  get unread(): number {
    return this.destroyed ? 0 : this.writableLength;
  }

  get progress(): number {
    // What libuv has left of the chunk it writes; Node's own idle timeout looks there too.
    const handle = (this.socket as { _handle?: { writeQueueSize?: number } | null } | null)
      ?._handle;
    return this.writableLength + (handle?.writeQueueSize ?? 0);
  }

  cut(): void {
    this.destroy();
  }

  /** Sends a short text as the whole answer; false, with nothing done, for all others. */
  #sendWhole(body: string): boolean {
    if (!this.#sendHeadWith(body, (error) => error || this.emit("finish"))) return false;
    const outgoing = this as unknown as Outgoing;
    outgoing.finished = true;
    outgoing._finish();
    return true;
  }

  /**
   * Writes head and body of a short text at once. Node itself writes an empty text behind the body, which makes it a write of
   * several pieces. False, with nothing done, for all other answers.
   */
  #sendHeadWith(body: string, done?: (error?: Error | null) => void): boolean {
    const { socket } = this;
    const outgoing = this as unknown as Outgoing;
    const head = outgoing._header;
    const isPlain = !outgoing._headerSent && outgoing._hasBody && !this.chunkedEncoding;
    if (!head || !isPlain || socket === null || !socket.writable || socket.writableLength > 0)
      return false;
    if (outgoing.outputSize > 0 || head.length + body.length >= WHOLE) return false;
    outgoing._headerSent = true;
    socket.write(head + body, "latin1", done);
    return true;
  }

  #note(): void {
    if (this.backlog === undefined) return;
    this.backlog.note(this);
    if (this.#isNoted) return;
    this.#isNoted = true;
    this.once("close", () => this.backlog?.forget(this));
  }
}

/** Whether a piece is a text that goes out with one byte for each character, as its head does, and nobody waits for. */
function isText(chunk: unknown, encoding: unknown, callback: unknown): chunk is string {
  if (typeof chunk !== "string" || callback !== undefined) return false;
  if (encoding === "latin1") return true;
  return encoding === undefined && Buffer.byteLength(chunk) === chunk.length;
}

/** The answer behind a response of a route, if a listener made it. */
export function answerOf(res: unknown): HttpAnswer | undefined {
  return res instanceof HttpAnswer ? res : undefined;
}

/**
 * The session that the request of an answer named.
 *
 * @example host.backlog.drop((answer) => sessionOf(answer) === session.id);
 */
export function sessionOf(answer: Unread): string | undefined {
  const id = answerOf(answer)?.req.headers["mcp-session-id"];
  return typeof id === "string" ? id : undefined;
}

/**
 * A request that Node takes for an upgrade only when it asks for WebSocket. Who asks for another protocol gets HTTP/1.1 as
 * before (RFC 9110 section 7.8): Java's HTTP client offers h2c with every first request, and Node would break those off. So does a
 * client that did not wait for the answers before: Node would switch at once, and write those answers into the WebSocket.
 */
export class HttpRequest extends IncomingMessage {
  private offered: unknown = false;
  #sink: BodySink | undefined;
  #isOver = false;

  get upgrade(): boolean {
    const { method, headers } = this;
    if (!this.offered) return false;
    if (method === "CONNECT") return true;
    return headers.upgrade?.toLowerCase() === "websocket" && !isAnswering(this.socket);
  }

  /** Called by Node's parser and, with null, by its constructor. */
  set upgrade(offered: unknown) {
    this.offered = offered;
  }

  /**
   * Hands the body to `sink` as Node's parser finds it, past the stream: its events and their turns of the loop cost more than
   * reading a small body. False once the stream has some of it.
   */
  divert(sink: BodySink): boolean {
    const isTouched = this.readableLength > 0 || this.readableFlowing !== null;
    if (this.complete || isTouched || this.#sink !== undefined) return false;
    this.#sink = sink;
    // Behind its answer, Node would throw away what comes of a body that nobody reads.
    (this as { _consuming?: boolean })._consuming = true;
    return true;
  }

  /** Called by Node's parser: with null, the body is whole. */
  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const sink = this.#sink;
    if (sink === undefined) return super.push(chunk, encoding);
    if (chunk !== null) sink.take(chunk);
    else {
      this.#isOver = true;
      // What `readableEnded` says, by which Node tells a request that was read from one that broke off.
      (this as unknown as Streamed)._readableState.endEmitted = true;
      sink.end();
    }
    return true;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    super._destroy(error, done);
    const sink = this.#sink;
    // Behind Node's own word that the connection is gone: what is answered to that must not count as sent.
    if (sink && !this.#isOver) process.nextTick(() => sink.gone());
  }
}

/** What Node keeps of an answer. */
interface Outgoing {
  readonly _header: string | null;
  readonly _hasBody: boolean;
  readonly outputSize: number;
  _headerSent: boolean;
  finished: boolean;
  _finish(): void;
}

/** What Node keeps of a stream. */
interface Streamed {
  readonly _readableState: { endEmitted: boolean };
}

/** Who takes a body, piece by piece. */
interface BodySink {
  take(chunk: Buffer): void;
  end(): void;
  /** The client went away before it was whole. */
  gone(): void;
}

/** Whether an answer on a connection is not over. Node keeps it there, and tells nobody who asks before the next request is known. */
function isAnswering(socket: Socket): boolean {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
  return answer !== undefined && answer !== null;
}

/** The raw path, so that nothing is decoded or normalised on the way to the exact look-up. */
export function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** First allocation for a body that comes in pieces; doubled as needed. */
const FIRST_ALLOCATION = 64 * 1024;
/** How much of a refused body is read and thrown away before the socket is destroyed. */
const DISCARD_LIMIT = 64 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

/** Who gets the outcome of {@link takeBody}, exactly once. */
interface BodyTaker {
  body(body: Buffer): void;
  failed(error: GatewayError): void;
}

/**
 * Reads a request body as bytes, without a promise between the last byte and its reader: this is the hot path. A body that arrives
 * in one piece is handed on without a copy.
 *
 * A refused body is discarded rather than cut off: closing a socket with unread bytes resets it, and the client would see
 * a broken connection in place of the 413. `limits.requestTimeout` bounds how long that takes.
 *
 * @param req a request nobody has read from yet
 * @param limit largest accepted body in bytes
 * @param taker is told `too_large`, before anything is buffered when Content-Length tells; `cancelled` when the client went away
 *
 * @example takeBody(req, host.limits.body, { body: (bytes) => read(bytes, res), failed: (error) => refuse(res, error) });
 */
export function takeBody(req: IncomingMessage, limit: number, taker: BodyTaker): void {
  // Node has already refused a Content-Length that is not a plain decimal number or comes with Transfer-Encoding.
  const declared = req.headers["content-length"];
  const length = declared === undefined ? limit : Number(declared);
  if (length > limit) {
    discard(req);
    return taker.failed(tooLarge(limit));
  }
  if (req.destroyed && !req.complete) return taker.failed(clientGone());
  if (req.readableEnded) return taker.body(EMPTY);
  collect(req, new BodyCollector(req, length, limit, taker));
}

/** As {@link takeBody}, as a promise. @throws {GatewayError} `too_large`, `cancelled` */
export function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => takeBody(req, limit, { body: resolve, failed: reject }));
}

/** Collects a body into one buffer, and reads what it refuses without keeping it. */
class BodyCollector implements BodySink {
  readonly #req: IncomingMessage;
  readonly #length: number;
  readonly #limit: number;
  readonly #taker: BodyTaker;
  #body: Buffer | undefined;
  #size = 0;
  #isDone = false;

  /** @param length bytes announced by Content-Length, else the limit: the most that is ever allocated */
  constructor(req: IncomingMessage, length: number, limit: number, taker: BodyTaker) {
    this.#req = req;
    this.#length = length;
    this.#limit = limit;
    this.#taker = taker;
  }

  take(chunk: Buffer): void {
    const size = this.#size;
    this.#size += chunk.length;
    if (this.#isDone) return discardPast(this.#req, this.#size);
    if (this.#size > this.#limit) return this.#fail(tooLarge(this.#limit));
    this.#body = this.#body === undefined ? chunk : append(this.#body, size, chunk, this.#length);
  }

  end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const body = this.#body ?? EMPTY;
    this.#taker.body(body.length === this.#size ? body : body.subarray(0, this.#size));
  }

  gone(): void {
    if (!this.#isDone) this.#fail(clientGone());
  }

  #fail(error: GatewayError): void {
    this.#isDone = true;
    this.#body = undefined;
    this.#taker.failed(error);
  }
}

function collect(req: IncomingMessage, collector: BodyCollector): void {
  if (req instanceof HttpRequest && req.divert(collector)) return;
  // The listeners stay: taking three off and Node's own bookkeeping for it cost more than the test.
  req.on("data", (chunk: Buffer) => collector.take(chunk));
  req.on("end", () => collector.end());
  req.on("close", () => collector.gone());
}

/**
 * Copies into one growing buffer. Keeping the chunks instead would let a client that sends one byte per chunk hold
 * a hundred times the limit in Buffer objects.
 */
function append(body: Buffer, size: number, chunk: Buffer, length: number): Buffer {
  const needed = size + chunk.length;
  let target = body;
  // True for the second chunk too: the first one is Node's own memory, exactly full and never written to.
  if (needed > body.length) {
    const room = Math.min(length, Math.max(FIRST_ALLOCATION, body.length * 2));
    target = Buffer.allocUnsafeSlow(Math.max(needed, room));
    body.copy(target, 0, 0, size);
  }
  chunk.copy(target, size);
  return target;
}

/** Reads the rest of a body that nobody wants, so that the next request on the socket starts at the right byte. */
export function discard(req: IncomingMessage): void {
  let size = 0;
  req.on("data", (chunk: Buffer) => {
    size += chunk.length;
    discardPast(req, size);
  });
}

function discardPast(req: IncomingMessage, size: number): void {
  if (size > DISCARD_LIMIT) req.socket.destroy();
}

/** The refusal of a body above a limit. */
export function tooLarge(limit: number): GatewayError {
  return new GatewayError("too_large", `The request body is larger than ${limit} bytes.`, {
    data: { limit },
    hint: "Send less, or raise limits.body in the gateway config.",
  });
}

function clientGone(): GatewayError {
  return new GatewayError("cancelled", "The client went away before its request was complete.");
}
