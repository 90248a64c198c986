import {
  checkInput,
  definePlugin,
  GatewayError,
  optional,
  type Json,
  type PluginContext,
  type RouteEvent,
} from "propylon";
import { Gating } from "propylon/plugins/gating";
import { z } from "zod";
import { readObject } from "./body.ts";
import { checkArguments } from "./arguments.ts";
import { Invocation, type InvocationHost } from "./invocation.ts";
import { Jobs, renderJob } from "./jobs.ts";
import { options } from "./options.ts";
import { respond } from "./reply.ts";
import { findServer, findTool, settled, toolsOf } from "./target.ts";
import { timeStages } from "./timing.ts";

const CALLER = { access: "caller", mutates: false } as const;

/** Body of `POST /:server/invoke` (M107). */
const invocation = z.strictObject({
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

export default definePlugin({
  name: "openapi",
  config: options,
  inject: { gating: optional(Gating) },
  setup(gateway) {
    const { config, services } = gateway;
    const jobs = gateway.keep(
      "jobs",
      () => new Jobs(config.jobs),
      (kept) => kept.clear(),
    );
    const host: InvocationHost = {
      call: gateway.call,
      options: config,
      gating: services.gating,
      jobs,
    };
    gateway.onStart(() => void (jobs.limits = config.jobs));
    gateway.hook("gateway:drain", () => jobs.cancelAll());
    if (config.serverTiming) timeStages(gateway.use);
    if (config.validate) validateUpstreamCalls(gateway);
    const run = (event: RouteEvent): Promise<Response> => invoke(gateway, host, event);
    gateway.route("POST", "/:server/:tool", CALLER, run);
    gateway.route("POST", "/:server/invoke", CALLER, run);
    routeJobs(gateway, jobs);
  },
});

/** Calls the tool that the path names, or the body of `/invoke`. */
async function invoke(
  gateway: Pick<PluginContext, "servers">,
  host: InvocationHost,
  event: RouteEvent,
): Promise<Response> {
  const [serverName, toolName] = segmentsOf(event.url.pathname);
  const provider = findServer(gateway.servers, serverName);
  await settled(provider);
  const body = await readObject(event);
  const tools = toolsOf(provider.catalogue);
  // A tool of that very name is not shadowed by the route.
  if (toolName !== "invoke" || tools.has(toolName))
    return new Invocation(host, event, findTool(provider, toolName), body).run();
  const { tool, arguments: args } = checkInput(body, invocation);
  return new Invocation(host, event, findTool(provider, tool), args as Json).run();
}

/** The two segments of a path, decoded; the route has exactly two. */
function segmentsOf(path: string): [server: string, tool: string] {
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

/** Refuses wrong arguments behind the gate and before the server. Plugins' tools are checked by the core. */
function validateUpstreamCalls({ use }: Pick<PluginContext, "use">): void {
  use("validate", (call, next) => {
    if (call.source === "http" && call.tool) checkArguments(call.tool, call.args ?? {});
    return next(call);
  });
}

function routeJobs({ route }: Pick<PluginContext, "route">, jobs: Jobs): void {
  route("GET", "/_jobs/:id", CALLER, ({ context }) => {
    const job = jobs.get(context.params!["id"]!, context.principal);
    return respond(200, renderJob(job), job.status === "running" ? { "retry-after": "1" } : {});
  });
  route("DELETE", "/_jobs/:id", CALLER, ({ context }) => {
    const job = jobs.get(context.params!["id"]!, context.principal);
    jobs.remove(job);
    return respond(200, renderJob(job));
  });
}
