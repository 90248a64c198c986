import type { AppInput } from "./routes.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { Cancellation } from "../call/cancellation.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { logFault } from "./route-log.ts";
import type { NodeHandler } from "./app.ts";
import { takeBody } from "./body.ts";
import { sendError } from "./failure.ts";
import type { DirectHandler } from "./route.ts";
import { shapeOf } from "./route-table.ts";
import type { RegisteredRoute } from "../plugin/scope.ts";
import type { Principal } from "../call/types.ts";

/** Finds who answers a request without the router; `undefined` = the router is to. */
export type DirectLookup = (req: IncomingMessage, path: string) => NodeHandler | undefined;

/** Two plain segments: what is encoded, empty or open is the router's. */
const TWO_SEGMENTS = /^\/([^/%]+)\/([^/%]+)$/;

/**
 * The way around the router for a route `POST /:a/:b` that offers one: for callers only, who are checked as at an MCP
 * endpoint, and for nothing that changes the gateway. Where a route with fixed segments could match, the router decides.
 */
export function compileDirect(
  routes: readonly RegisteredRoute[],
  { bodyLimit, leases, log }: Pick<AppInput, "bodyLimit" | "leases" | "log">,
): DirectLookup | undefined {
  const route = routes.find(isDirect);
  const direct = route?.options.direct;
  if (!route || !direct) return undefined;
  const fixed = fixedSegments(routes);
  const limit = route.options.bodyLimit ?? bodyLimit;
  return (req, path) => {
    if (req.method !== "POST") return undefined;
    const [, first, second] = TWO_SEGMENTS.exec(path) ?? [];
    if (first === undefined || second === undefined) return undefined;
    if (fixed.firsts.has(first) || fixed.seconds.has(second)) return undefined;
    const handler = direct({ url: req.url!, segments: [first, second], headers: req.headers });
    if (!handler) return undefined;
    return (_req, res, principal) =>
      takeBody(req, limit, {
        body: (body) => {
          if (leases.isWithdrawn(principal)) return sendError(res, withdrawn());
          void answer(handler, body, principal, res, log);
        },
        failed: (error) => sendError(res, error),
      });
  };
}

function isDirect({
  method,
  path,
  options: { access, mutates, direct },
}: RegisteredRoute): boolean {
  return (
    direct !== undefined &&
    method === "POST" &&
    access === "caller" &&
    !mutates &&
    shapeOf(path) === "/:/:"
  );
}

/** Segments that some other route has in the place of a parameter. */
function fixedSegments(routes: readonly RegisteredRoute[]): {
  readonly firsts: ReadonlySet<string>;
  readonly seconds: ReadonlySet<string>;
} {
  const shapes = routes
    .filter(({ method }) => method === "POST")
    .map(({ path }) => shapeOf(path).slice(1).split("/"));
  const isOpen = (segment: string | undefined): boolean => segment === ":" || segment === "**";
  return {
    firsts: new Set(shapes.map(([first]) => first ?? "").filter((first) => !isOpen(first))),
    seconds: new Set(shapes.filter(([first]) => isOpen(first)).map(([, second]) => second ?? "")),
  };
}

async function answer(
  handler: DirectHandler,
  body: Buffer,
  principal: Principal,
  res: ServerResponse,
  log: Logger,
): Promise<void> {
  const cancellation = new Cancellation();
  res.once("close", () => res.writableFinished || cancellation.abort(clientGone()));
  try {
    const { status, headers, body: text } = await handler({ body, principal, cancellation });
    if (res.destroyed) return;
    res.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      ...headers,
    });
    res.end(text);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    logFault(log, error);
    sendError(res, error);
  }
}

function withdrawn(): GatewayError {
  return new GatewayError("unauthorized", "The credential is no longer valid.");
}

function clientGone(): GatewayError {
  return new GatewayError("cancelled", "The client went away before its answer was there.");
}
