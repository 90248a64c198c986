import { FastResponse } from "srvx";
import { GatewayError, isGatewayError, type Principal, type RouteEvent } from "propylon";
import { writeJson } from "propylon/kit";
import type { Abortable, DirectAnswer, DirectHead, DirectRequest } from "propylon/internal";

/** Longest id that a client may choose, in characters: it becomes a key, a variable and a part of subjects. */
export const MAX_ID = 1_024;

/** A request with a body, through the router or around it. */
export interface PostRequest {
  readonly principal: Principal;
  /** Deepest JSON that the body may have. */
  readonly maxDepth: number;
  readonly headers: { get(name: string): string | null | undefined };
  /** Absent: it has none. */
  readonly query?: URLSearchParams;
  /** @throws {GatewayError} `too_large` */
  read(): Promise<Buffer>;
  /** Aborts when the client goes away. */
  gone(): Abortable;
  /** Hears when the credential behind a stream is gone. Absent: it is not answered with a stream. */
  readonly onRevoked?: (listener: (error: GatewayError) => void) => void;
}

/** A request that came through the router. */
export function postOf(event: RouteEvent): PostRequest {
  const { req, url, context } = event;
  return {
    principal: context.principal,
    maxDepth: context.maxDepth,
    headers: req.headers,
    query: url.searchParams,
    read: () => readBytes(event),
    gone: () => req.signal,
    onRevoked: (listener) => (context.onRevoked = listener),
  };
}

/** A request that goes around the router: it has no query. */
export function directPost(
  { headers }: DirectHead,
  { principal, maxDepth, body, cancellation }: DirectRequest,
): PostRequest {
  const get = (name: string) => headers[name.toLowerCase()] as string | undefined;
  return {
    principal,
    maxDepth,
    headers: { get },
    read: () => Promise.resolve(body),
    gone: () => cancellation,
  };
}

/**
 * The bytes of a body, as the listener has read them: the web's stream around them would cost an eighth of a message.
 *
 * @throws {GatewayError} `too_large`
 */
async function readBytes({ req }: RouteEvent): Promise<Buffer> {
  const source = req.runtime?.node?.req as { readonly rawBody?: Buffer } | undefined;
  try {
    return source?.rawBody ?? Buffer.from(await req.arrayBuffer());
  } catch (error) {
    if (!isGatewayError(error) || error.code !== "too_large") throw error;
    // Without the hint, which is for who runs the gateway.
    throw new GatewayError("too_large", error.message, { cause: error });
  }
}

/** What an answer has besides its body. */
export interface ReplyHead {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer in JSON, which goes out on whichever way its request came; or a stream. */
export type PostReply = DirectAnswer | Response;

/** A JSON answer. */
export function jsonReply(value: unknown, { status = 200, headers }: ReplyHead = {}): DirectAnswer {
  return {
    status,
    body: writeJson(value),
    headers: { "content-type": "application/json", ...headers },
  };
}

/** The answer of a route. In Node a Response of the web costs several times more. */
export function toResponse(reply: PostReply): Response {
  if (reply instanceof Response) return reply;
  const { status, body, headers = {} } = reply;
  return new FastResponse(body, { status, headers });
}
