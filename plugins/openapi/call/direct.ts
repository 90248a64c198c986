import type { PluginContext } from "propylon";
import {
  prefersEvents,
  renderError,
  toolsOf,
  type DirectAnswer,
  type DirectHandler,
  type DirectHead,
  type DirectRequest,
} from "propylon/internal";
import type { RateLimitsService } from "propylon/plugins/ratelimit";
import { isJsonType, toObject } from "./body.ts";
import { NOBODY } from "./invocation.ts";
import { limitHeaders } from "./limits.ts";
import type { OpenapiOptions } from "../options.ts";
import { failureOf, renderResult, httpStatusOf } from "./reply.ts";
import { findServer, findTool, type Target } from "./target.ts";

/** Headers that ask for something the plain way does not offer. */
const SPECIAL = ["prefer", "x-tool-timeout", "x-result-format", "traceparent"];

/**
 * The plain call, without the router: JSON in, JSON out, at once, to a tool that exists. Whatever is special about a request
 * goes the long way, and both answer alike.
 */
export function callDirectly(
  gateway: Pick<PluginContext, "info" | "call">,
  options: Pick<OpenapiOptions, "format" | "serverTiming" | "forwardHeaders" | "toolFailureStatus">,
  limits: RateLimitsService | undefined,
): (head: DirectHead) => DirectHandler | undefined {
  return ({ url, segments: [server = "", name = ""], headers }) => {
    if (Object.hasOwn(options.forwardHeaders, server)) return undefined;
    if (options.serverTiming || url.includes("?") || !isJsonType(headers["content-type"]))
      return undefined;
    for (const header of SPECIAL) if (headers[header] !== undefined) return undefined;
    const { accept } = headers;
    if (accept !== undefined && prefersEvents(accept)) return undefined;
    const found = gateway.info.servers.get(server);
    const tool = found && toolsOf(found.catalogue).get(name);
    if (!found || !tool) return undefined;
    const target = { server: found, tool };
    if (!limits) return (request) => answer(gateway, options, target, request, accept);
    return async (request) => {
      const answered = await answer(gateway, options, target, request, accept);
      const left = limitHeaders(limits, target, request.principal);
      return { ...answered, headers: { ...answered.headers, ...left } };
    };
  };
}

async function answer(
  gateway: Pick<PluginContext, "info" | "call">,
  options: Pick<OpenapiOptions, "format" | "toolFailureStatus">,
  target: Target,
  { body, maxDepth, principal, cancellation }: DirectRequest,
  accept: string | undefined,
): Promise<DirectAnswer> {
  // In the router's order, so that a name which is not there for this caller looks like any other.
  const { name: server } = findServer(gateway.info, target.server.name, principal);
  const args = toObject(body, maxDepth);
  findTool(gateway.info, target.server, target.tool.name, principal);
  const reply = await gateway.call({
    server,
    name: target.tool.name,
    source: "http",
    args,
    principal,
    cancellation,
    peer: NOBODY,
  });
  const failure = failureOf(reply);
  if (!failure) return { status: 200, body: renderResult(reply.result!, options.format) };
  const { type, body: text } = renderError(failure, accept);
  return {
    status: httpStatusOf(failure, options),
    body: text,
    headers: { "content-type": type },
  };
}
