import type { ServerResponse } from "node:http";
import { Cancellation } from "../kit/cancellation.ts";
import { clientGone, toGatewayError } from "../kit/errors.ts";
import { Recent } from "../kit/recent.ts";
import type { AppInput, ListenerApp } from "./app.ts";
import { takeBody } from "./http-messages.ts";
import { sendBody, sendError } from "./failure.ts";
import type { PathTable } from "./path-table.ts";
import { logFault } from "./refusal.ts";
import type { DirectHandler, DirectHead, DirectRequest, RegisteredRoute } from "../plugin/route.ts";
import { keepBody, serveWeb } from "./web.ts";

/** Paths that are kept, and their longest. */
const MAX_PATHS = 1_024;
const MAX_PATH = 256;
/** Paths that the router sees as they were sent: it decodes, resolves dots, turns backslashes and takes fragments off. */
const PLAIN = /^(?:\/(?!\.)[\w.~!$&'()*+,;=:@-]*)+$/;

/** A way around the router, for the path of a request. */
interface Way extends Pick<DirectHead, "segments"> {
  readonly route: RegisteredRoute;
}

/** What is needed to find who answers a request without the router. */
export interface DirectInput extends Pick<
  AppInput,
  "routes" | "bodyLimit" | "maxDepth" | "leases" | "log"
> {
  readonly table: PathTable;
  /** The router, for a request that turns out to be one for it. */
  readonly fetch: ListenerApp["fetch"];
}

/**
 * Finds who answers a request without the router: a route that offers a way around it, for callers only, who are checked as at an
 * MCP endpoint, and for nothing that changes the gateway. A path that is not plain is the router's, and so is a body without a
 * length, or with one above the limit: the route says in its own words what is wrong with those.
 */
export function findDirect(input: DirectInput): ListenerApp["direct"] {
  if (!input.routes.some(isDirect)) return undefined;
  const wayOf = findWays(input.table);
  return (req, path) => {
    const { method, headers } = req;
    if (method !== "POST") return undefined;
    const way = wayOf(path);
    if (!way) return undefined;
    const { options } = way.route;
    const limit = options.bodyLimit ?? input.bodyLimit;
    const isBounded = Number(headers["content-length"]) <= limit;
    const handler =
      isBounded && options.direct!({ url: req.url!, headers, segments: way.segments });
    if (!handler) return undefined;
    return (_req, res, principal) =>
      takeBody(req, limit, {
        body: (body) => void answer(handler, { body, principal }, res, input),
        failed: (error) => sendError(res, error),
      });
  };
}

/** Finds the way of a path; those of paths that were looked up before are known. */
function findWays(table: PathTable): (path: string) => Way | undefined {
  const known = new Recent<Way>(MAX_PATHS);
  return (path) => {
    const before = known.get(path);
    if (before) return before;
    if (!PLAIN.test(path)) return undefined;
    const match = table.route("POST", path);
    if (!match || !isDirect(match.found)) return undefined;
    const way = { route: match.found, segments: Object.values(match.params ?? {}) };
    if (path.length <= MAX_PATH) known.set(path, way);
    return way;
  };
}

function isDirect({ method, options }: RegisteredRoute): boolean {
  const { access, mutates, direct } = options;
  return direct !== undefined && access === "caller" && !mutates && method === "POST";
}

async function answer(
  handler: DirectHandler,
  request: Pick<DirectRequest, "body" | "principal">,
  res: ServerResponse,
  { leases, log, maxDepth, fetch }: DirectInput,
): Promise<void> {
  const cancellation = new Cancellation();
  res.once("close", () => res.writableFinished || cancellation.abort(clientGone()));
  try {
    leases.refuseWithdrawn(request.principal);
    const answered = await handler({ ...request, maxDepth, cancellation });
    if (res.destroyed) return;
    if (answered === undefined) return await takeDetour(res, request.body, fetch);
    const { status, headers, body } = answered;
    sendBody(res, status, body, { "content-type": "application/json", ...headers });
  } catch (thrown) {
    const error = toGatewayError(thrown);
    logFault(log, error);
    sendError(res, error);
  }
}

/** The request is the router's after all, which finds the body that was read. */
function takeDetour(res: ServerResponse, body: Buffer, fetch: ListenerApp["fetch"]): Promise<void> {
  keepBody(res.req, body);
  return serveWeb(res.req, res, fetch);
}
