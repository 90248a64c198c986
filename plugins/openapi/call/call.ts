import {
  GatewayError,
  type PluginContext,
  type Server,
  type RouteEvent,
  type RouteHandler,
} from "propylon";
import { boundedRecord, checkInput } from "propylon/kit";
import { toolsOf } from "propylon/internal";
import { z } from "zod";
import { readToolArguments } from "./body.ts";
import { Invocation, type InvocationHost } from "./invocation.ts";
import { findServer, findTool, isAwaited, settled } from "./target.ts";
import { limitOf, requestedTimeout } from "./timeout.ts";

/** Body of `POST /:server/invoke`. */
const invokeBody = z.strictObject({
  tool: z.string(),
  arguments: boundedRecord(z.string(), z.unknown(), 10_000).default({}),
});

/** The handler that calls the tool which the path names, or the body of `/invoke`. */
export function callTool(
  gateway: Pick<PluginContext, "info" | "call">,
  parts: Omit<InvocationHost, "call" | "timeouts">,
): RouteHandler {
  const host: InvocationHost = {
    ...parts,
    call: (input) => gateway.call(input),
    timeouts: (call) => gateway.info.timeouts(call),
  };
  return async (event) => {
    const [server, name] = targetOf(event.url.pathname, parts.options.root);
    const { principal } = event.context;
    const found = findServer(gateway.info, server, principal);
    const waited = isAwaited(found) ? await connected(host, event, found, name) : 0;
    const body = await readToolArguments(event);
    // A tool of that very name is not shadowed by the route.
    if (name !== "invoke" || toolsOf(found.catalogue).has(name))
      return new Invocation(
        host,
        event,
        findTool(gateway.info, found, name, principal),
        body,
        waited,
      ).run();
    const { tool, arguments: args } = checkInput(body, invokeBody);
    const target = findTool(gateway.info, found, tool, principal);
    return new Invocation(host, event, target, args, waited).run();
  };
}

/**
 * Waits for the first connect of a server, as long as the call may take.
 *
 * @returns milliseconds that it took
 * @throws {GatewayError} `timeout`
 */
async function connected(
  { gating, timeouts }: InvocationHost,
  { req, url }: RouteEvent,
  found: Server,
  name: string,
): Promise<number> {
  const from = performance.now();
  const timeout = requestedTimeout(req.headers.get("x-tool-timeout"), url.search);
  const call = {
    method: "tools/call",
    server: found.name,
    name,
    timeout,
    meta: undefined,
  } as const;
  const limit = limitOf(gating, timeouts, call);
  await settled(found, limit);
  if (isAwaited(found))
    throw new GatewayError(
      "timeout",
      `"${found.name}" was not connected within ${limit} ms, which is all that the call may take.`,
      { hint: "Try again later; the gateway keeps connecting." },
    );
  return performance.now() - from;
}

/** The server that the first segment of a path names, decoded. */
export function serverOf({ url }: RouteEvent): string {
  return segmentsOf(url.pathname)[0];
}

/** Server and tool that a path names; one segment is a tool of the server at the root. */
function targetOf(path: string, root: string | undefined): [server: string, name: string] {
  const isOne = root !== undefined && !path.slice(1).replace(/\/$/, "").includes("/");
  return isOne ? [root, decode(path.slice(1).replace(/\/$/, ""))] : segmentsOf(path);
}

/** The two segments of a path, decoded; the routes have exactly two. */
function segmentsOf(path: string): [server: string, name: string] {
  const slash = path.indexOf("/", 1);
  return [decode(path.slice(1, slash)), decode(path.slice(slash + 1).replace(/\/$/, ""))];
}

function decode(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new GatewayError("bad_request", "The path is not valid percent-encoded UTF-8.");
  }
}
