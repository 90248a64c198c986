import type { IncomingMessage } from "node:http";
import { GatewayError } from "../errors.ts";

/** First allocation for a body that comes in pieces; doubled as needed. */
const FIRST_ALLOCATION = 64 * 1024;
/** How much of a refused body is read and thrown away before the socket is destroyed. */
const DISCARD_LIMIT = 64 * 1024 * 1024;

/**
 * Reads a request body as bytes. A body that arrives in one piece is returned without a copy.
 *
 * A refused body is discarded rather than cut off: closing a socket with unread bytes resets it, and the client would see
 * a broken connection in place of the 413. `limits.requestTimeout` bounds how long that takes.
 *
 * @param req a request nobody has read from yet
 * @param limit largest accepted body in bytes
 * @throws {GatewayError} `too_large`, before anything is buffered when Content-Length tells; `cancelled` when the client went away
 */
export function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => takeBody(req, limit, { body: resolve, failed: reject }));
}

/** Who gets the outcome of {@link takeBody}, exactly once. */
export interface BodyTaker {
  body(body: Buffer): void;
  failed(error: GatewayError): void;
}

/** {@link readBody} for the hot path: no promise stands between the last byte and its reader. */
export function takeBody(req: IncomingMessage, limit: number, taker: BodyTaker): void {
  // Node has already refused a Content-Length that is not a plain decimal number or comes with Transfer-Encoding.
  const declared = req.headers["content-length"];
  const length = declared === undefined ? limit : Number(declared);
  if (length > limit) {
    discard(req);
    return taker.failed(tooLarge(limit));
  }
  if (req.destroyed && !req.complete) return taker.failed(clientGone());
  if (req.readableEnded) return taker.body(Buffer.alloc(0));
  collect(req, length, limit, taker);
}

/** @param length bytes announced by Content-Length, else the limit: the most that is ever allocated */
function collect(req: IncomingMessage, length: number, limit: number, taker: BodyTaker): void {
  let body: Buffer | undefined;
  let size = 0;
  // The listeners stay: taking three off and Node's own bookkeeping for it cost more than the test.
  let done = false;
  req.on("data", (chunk: Buffer) => {
    if (done) return;
    if (size + chunk.length > limit) {
      done = true;
      discard(req);
      taker.failed(tooLarge(limit));
      return;
    }
    body = body === undefined ? chunk : append(body, size, chunk, length);
    size += chunk.length;
  });
  req.on("end", () => {
    if (done) return;
    done = true;
    if (body === undefined) taker.body(Buffer.alloc(0));
    else taker.body(body.length === size ? body : body.subarray(0, size));
  });
  req.on("close", () => {
    if (done) return;
    done = true;
    taker.failed(clientGone());
  });
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
    if (size > DISCARD_LIMIT) req.socket.destroy();
  });
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError("too_large", `The request body is larger than ${limit} bytes.`, {
    data: { limit },
    hint: "Send less, or raise limits.body in the gateway config.",
  });
}

function clientGone(): GatewayError {
  return new GatewayError("cancelled", "The client went away before its request was complete.");
}
