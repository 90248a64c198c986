import { HTTPError } from "h3";
import { GatewayError, renderError, toGatewayError, type ErrorCode } from "../kit/errors.ts";
import type { Logger } from "pino";

/** 405 where another method would match, else 404; never with the URL in it. */
export function refuse(method: string, allowed: ReadonlySet<string>): GatewayError {
  if (allowed.size === 0) return new GatewayError("not_found", "Nothing here.");
  return new GatewayError(
    "method_not_allowed",
    `Method ${METHOD_NAME.test(method) ? method : "?"} is not allowed here.`,
    { headers: { allow: [...allowed].toSorted().join(", ") } },
  );
}

const METHOD_NAME = /^[A-Z]{1,16}$/;

/** What h3 and its tools throw, as our own error: their words describe the request's fault and are safe, a 500's are not. */
export function toOwnError(error: unknown): GatewayError {
  const cause = HTTPError.isError(error) && error.unhandled ? unwrap(error) : error;
  if (!HTTPError.isError(cause)) return toGatewayError(cause);
  const codes: Readonly<Record<number, ErrorCode>> = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "exists",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "rate_limited",
  };
  if (cause.status >= 500) return toGatewayError(cause.cause ?? cause);
  return new GatewayError(codes[cause.status] ?? "bad_request", cause.message, { cause });
}

function unwrap({ cause }: HTTPError): unknown {
  return (cause as { cause?: unknown } | undefined)?.cause ?? cause;
}

/** The answer to a failed request: the envelope, or an RFC 9457 problem where the client asks for one. */
export function toErrorResponse(error: GatewayError, accept: string | null): Response {
  const { type, body } = renderError(error, accept);
  return new Response(body, {
    status: error.status,
    headers: { "content-type": type, "cache-control": "no-store", ...error.headers },
  });
}

/**
 * Writes down why a route failed, where the fault is the gateway's. That a server failed (502, 504) or calls are refused for
 * now (503) is not: the line of the call tells it, and a stack per refused call would flood the log while a circuit is open.
 */
export function logFault(log: Logger, error: GatewayError): void {
  if (error.status === 500) log.error({ err: error, code: error.code }, "a route failed");
}
