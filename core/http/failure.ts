import { ServerResponse, STATUS_CODES, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { GatewayError, renderError, toEnvelope, toRpcError } from "../kit/errors.ts";

/** How long a refused connection is still read from, so that its client can read the refusal. */
const LINGER_MS = 1_000;

/**
 * Answers a request with an error: the envelope, or an RFC 9457 problem where the client asks for one.
 * When the answer has begun already the socket is destroyed, so that nobody takes a part for the whole; likewise when nobody
 * is left to answer.
 */
export function sendError(res: ServerResponse, error: GatewayError): void {
  send(res, error, renderError(error, res.req.headers.accept));
}

/**
 * Refuses a request to an MCP endpoint, before it was read: as a JSON-RPC error, since clients look for nothing else in a body,
 * and an agent whose client hides the reason runs without tools and without a word.
 */
export function sendRpcError(res: ServerResponse, error: GatewayError): void {
  const body = { jsonrpc: "2.0", id: null, error: toRpcError(error) };
  send(res, error, { type: "application/json", body: JSON.stringify(body) });
}

function send(
  res: ServerResponse,
  error: GatewayError,
  { type, body }: ReturnType<typeof renderError>,
): void {
  if (res.headersSent || res.socket === null || res.socket.destroyed) {
    res.destroy();
    return;
  }
  sendBody(res, error.status, body, { "content-type": type, ...error.headers });
}

/** Answers with a body that nobody may keep. */
export function sendBody(
  res: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
): void {
  res.writeHead(status, {
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  res.end(body);
}

/** Answers on a bare socket, when the bytes were not a request that Node could read, and closes it. */
export function refuseSocket(socket: Duplex, status: number, error: GatewayError): void {
  if (!socket.writable) return;
  socket.end(bareAnswer(status, JSON.stringify(toEnvelope(error)), error.headers));
  linger(socket);
}

/** The bytes of an answer in JSON that ends its connection. */
export function bareAnswer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): string {
  const head = {
    Connection: "close",
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\n${lines.join("")}\r\n${body}`;
}

/** Closes a socket that was ended. At once, with bytes unread, would reset the connection and take the answer along. */
export function linger(socket: Duplex): void {
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/**
 * Cuts an answer off that was ended, unless its client takes the rest in a moment.
 *
 * @example
 * res.end(lastEvent);
 * cutSoon(res);
 */
export function cutSoon(res: ServerResponse): void {
  const timer = setTimeout(() => res.destroy(), LINGER_MS).unref();
  res.once("close", () => clearTimeout(timer));
}

/** Answers a handshake that is refused as a plain HTTP request would be, and closes the connection. */
export function refuseUpgrade(req: IncomingMessage, socket: Socket, error: GatewayError): void {
  if (!socket.writable) return void socket.destroy();
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  res.once("finish", () => socket.end());
  sendError(res, error);
  linger(socket);
}

/** Status and sentence for bytes that Node's HTTP parser refused; `undefined` when the peer is simply gone. */
export function parserFailure(
  error: NodeJS.ErrnoException,
): { status: number; error: GatewayError } | undefined {
  switch (error.code) {
    case "ECONNRESET":
    case "EPIPE":
      return undefined;
    case "HPE_HEADER_OVERFLOW":
      return {
        status: 431,
        error: new GatewayError(
          "too_large",
          "The request head is larger than this gateway accepts (limits.header).",
        ),
      };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return {
        status: 413,
        error: new GatewayError(
          "too_large",
          "The chunk extensions of the request body are too large.",
        ),
      };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return {
        status: 408,
        error: new GatewayError("timeout", "The request did not arrive in time."),
      };
    default:
      return {
        status: 400,
        error: new GatewayError("bad_request", "This is not a valid HTTP/1.1 request."),
      };
  }
}

/** A few kilobytes of it can be gigabytes (RFC 9110, section 15.5.16). */
export function encodedBody(): GatewayError {
  return new GatewayError(
    "unsupported_media_type",
    "Bodies are taken without a content encoding.",
    {
      hint: "Send the body as it is, without Content-Encoding.",
      headers: { "accept-encoding": "identity" },
    },
  );
}

/** Says which settings take a name in. */
export function unknownHost(): GatewayError {
  return new GatewayError("forbidden", "The Host header names no host of this gateway.", {
    hint: "Add the name to listeners.<name>.allowedHosts, set publicUrl, or start with --allowed-host <name>.",
  });
}

/** The same of an origin. */
export function unknownOrigin(): GatewayError {
  return new GatewayError("forbidden", "Pages of this origin may not use the gateway.", {
    hint: "Add the origin to listeners.<name>.allowedOrigins.",
  });
}

/** Clients come back, on a connection of their own. */
export function notReady(message: string): GatewayError {
  return new GatewayError("draining", message, {
    headers: { "retry-after": "5", connection: "close" },
  });
}
