import { assertBodySize, H3, HTTPError, type H3Event } from "h3";
import type { Logger } from "pino";
import type { AppInput } from "./app.ts";
import type { Authenticator, Credentials } from "../auth.ts";
import { authenticate, optionally } from "./edge.ts";
import { GatewayError, toEnvelope, toGatewayError, toProblem, type ErrorCode } from "../errors.ts";
import type { ListenerApp } from "../node/app.ts";
import type { Access, RouteEvent } from "../plugin.ts";
import { shapeOf } from "./route-table.ts";
import type { RegisteredRoute } from "./scope.ts";
import type { Principal } from "../types.ts";

/** Makes the router of one listener. Authorisation hangs on the matched route, never on a prefix of the path (T9). */
export function createRouter({
  routes,
  authenticator,
  bodyLimit,
  log,
}: Omit<AppInput, "endpoints">): ListenerApp["fetch"] {
  const app = new H3({
    silent: true,
    onError: (error, event) => render(toOwnError(error), event, log),
  });
  for (const route of routes) {
    app.on(route.method, route.path, async (event) => {
      try {
        const principal = await admit(event, route.options.access, authenticator);
        assertBodySize(event, route.options.bodyLimit ?? bodyLimit);
        Object.assign(event.context, { principal, mutates: route.options.mutates });
        return await route.handler(event as RouteEvent);
      } catch (error) {
        return render(toOwnError(error), event, log);
      }
    });
  }
  app.all("/**", (event) => render(refuse(event, routes), event, log));
  return (request) => app.fetch(request);
}

/** Finds out who asks, and refuses those whom the route does not admit. */
async function admit(
  { req, url }: H3Event,
  access: Access,
  authenticator: Authenticator,
): Promise<Principal | undefined> {
  const credentials: Credentials = {
    method: req.method,
    path: url.pathname,
    headers: Object.fromEntries(req.headers),
    remoteAddress: (req as { ip?: string }).ip,
  };
  if (access === "public") return optionally(authenticator, credentials);
  const principal = await authenticate(authenticator, credentials);
  if (authenticator.admits(principal, access)) return principal;
  throw new GatewayError("forbidden", "You are not allowed to do this.");
}

/** 405 where another method would match, else 404; never with the URL in it. */
function refuse({ req, url }: H3Event, routes: readonly RegisteredRoute[]): GatewayError {
  const methods = new Set<string>(
    routes.filter(({ path }) => isMatch(path, url.pathname)).map(({ method }) => method),
  );
  if (methods.size === 0) return new GatewayError("not_found", "Nothing here.");
  const allow = [...methods].toSorted().join(", ");
  return new GatewayError(
    "method_not_allowed",
    `Method ${METHOD_NAME.test(req.method) ? req.method : "?"} is not allowed here.`,
    { headers: { allow } },
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
function toOwnError(error: unknown): GatewayError {
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

function render(error: GatewayError, { req }: H3Event, log: Logger): Response {
  if (error.status >= 500) log.error({ err: error, code: error.code }, "a route failed");
  const problem = req.headers.get("accept")?.includes("application/problem+json") === true;
  return new Response(JSON.stringify(problem ? toProblem(error) : toEnvelope(error)), {
    status: error.status,
    headers: {
      "content-type": problem ? "application/problem+json" : "application/json",
      "cache-control": "no-store",
      ...error.headers,
    },
  });
}
