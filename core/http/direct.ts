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
import { shapeOf } from "./route-table.ts";

/** Paths that are kept, and their longest. */
const MAX_PATHS = 1_024;
const MAX_PATH = 256;

/**
 * Finds who answers a request without the router: a route `POST /:a/:b` that offers a way around it, for callers only, who are
 * checked as at an MCP endpoint, and for nothing that changes the gateway. What is percent-encoded is the router's.
 */
export function findDirect(
  table: PathTable,
  input: Pick<AppInput, "routes" | "bodyLimit" | "maxDepth" | "leases" | "log">,
): ListenerApp["direct"] {
  const { routes, bodyLimit, maxDepth, leases, log } = input;
  const route = routes.find(isDirect);
  const direct = route?.options.direct;
  if (!route || !direct) return undefined;
  const limit = route.options.bodyLimit ?? bodyLimit;
  const segmentsAt = findSegments(table, route);
  return (req, path) => {
    if (req.method !== "POST" || path.includes("%")) return undefined;
    const segments = segmentsAt(path);
    if (!segments) return undefined;
    const head = { url: req.url!, segments, headers: req.headers };
    const handler = direct(head);
    if (!handler) return undefined;
    return (_req, res, principal) =>
      takeBody(req, limit, {
        body: (body) => void answer(handler, { body, maxDepth, principal }, res, { leases, log }),
        failed: (error) => sendError(res, error),
      });
  };
}

/** The segments of a path that leads to `route`; those of paths that were looked up before are known. */
function findSegments(
  table: PathTable,
  route: RegisteredRoute,
): (path: string) => DirectHead["segments"] | undefined {
  const known = new Recent<DirectHead["segments"]>(MAX_PATHS);
  return (path) => {
    const before = known.get(path);
    if (before) return before;
    const match = table.route("POST", path);
    if (match?.found !== route) return undefined;
    const [first, second] = Object.values(match.params!);
    const segments = [first!, second!] as const;
    if (path.length <= MAX_PATH) known.set(path, segments);
    return segments;
  };
}

function isDirect({ method, path, options }: RegisteredRoute): boolean {
  const { access, mutates, direct } = options;
  const isOpen = direct !== undefined && access === "caller" && !mutates;
  return isOpen && method === "POST" && shapeOf(path) === "/:/:";
}

async function answer(
  handler: DirectHandler,
  request: Omit<DirectRequest, "cancellation">,
  res: ServerResponse,
  { leases, log }: Pick<AppInput, "leases" | "log">,
): Promise<void> {
  const cancellation = new Cancellation();
  res.once("close", () => res.writableFinished || cancellation.abort(clientGone()));
  try {
    leases.refuseWithdrawn(request.principal);
    const { status, headers, body: text } = await handler({ ...request, cancellation });
    if (!res.destroyed)
      sendBody(res, status, text, { "content-type": "application/json", ...headers });
  } catch (thrown) {
    const error = toGatewayError(thrown);
    logFault(log, error);
    sendError(res, error);
  }
}
