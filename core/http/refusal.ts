import { HTTPError } from "h3";
import { GatewayError, toEnvelope, toGatewayError, toProblem, type ErrorCode } from "../errors.ts";
import { shapeOf } from "./route-table.ts";
import type { RegisteredRoute } from "../plugin/scope.ts";

/** 405 where another method would match, else 404; never with the URL in it. */
export function refuse(
  method: string,
  path: string,
  routes: readonly Pick<RegisteredRoute, "method" | "path">[],
): GatewayError {
  const methods = new Set<string>(
    routes.filter((route) => isMatch(route.path, path)).map((route) => route.method),
  );
  if (methods.size === 0) return new GatewayError("not_found", "Nothing here.");
  // Every GET route answers HEAD too.
  if (methods.has("GET")) methods.add("HEAD");
  return new GatewayError(
    "method_not_allowed",
    `Method ${METHOD_NAME.test(method) ? method : "?"} is not allowed here.`,
    { headers: { allow: [...methods].toSorted().join(", ") } },
  );
}

const METHOD_NAME = /^[A-Z]{1,16}$/;

/** Whether a route's pattern covers a path; only asked on the way to a refusal. */
function isMatch(pattern: string, path: string): boolean {
  const wanted = shapeOf(pattern).split("/");
  const given = path.replace(/(?<=.)\/$/, "").split("/");
  const open = wanted.indexOf("**");
  if (open < 0 ? wanted.length !== given.length : given.length < open) return false;
  return wanted
    .slice(0, open < 0 ? undefined : open)
    .every((segment, index) => segment === ":" || segment === given[index]);
}

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
  const problem = accept?.includes("application/problem+json") === true;
  return new Response(JSON.stringify(problem ? toProblem(error) : toEnvelope(error)), {
    status: error.status,
    headers: {
      "content-type": problem ? "application/problem+json" : "application/json",
      "cache-control": "no-store",
      ...error.headers,
    },
  });
}
