import { definePlugin, optional, type PluginContext } from "propylon";
import { amendCall } from "propylon/kit";
import { Gating } from "propylon/plugins/gating";
import { RateLimits } from "propylon/plugins/ratelimit";
import { formerApiOptions, apiOptions } from "./api/options.ts";
import { apiServerType } from "./api/server-type.ts";
import { checkArguments } from "./arguments.ts";
import { callTool } from "./call.ts";
import { coerceArguments } from "./coerce.ts";
import { commands } from "./commands.ts";
import { callDirectly } from "./direct.ts";
import { routeDocuments } from "./document-routes.ts";
import { Jobs, renderJob } from "./jobs.ts";
import { formerOptions, options, type Options } from "./options.ts";
import { respond } from "./reply.ts";
import { timeStages } from "./timing.ts";

const CALLER = { access: "caller", mutates: false } as const;

export default definePlugin({
  name: "openapi",
  config: options,
  formerOptions,
  commands,
  serverTypes: { openapi: apiOptions },
  formerServerOptions: { openapi: formerApiOptions },
  inject: { gating: optional(Gating), limits: optional(RateLimits) },
  setup(gateway) {
    const { config, services } = gateway;
    const jobs = gateway.keep(
      "jobs",
      () => new Jobs(config.jobs),
      (kept) => kept.clear(),
    );
    gateway.onStart(() => void (jobs.limits = config.jobs));
    gateway.hook("gateway:drain", () => jobs.cancelAll());
    if (config.serverTiming) timeStages(gateway);
    if (config.validate || config.coerce) validateCalls(gateway, config);
    const call = callTool(gateway, { ...services, options: config, jobs });
    gateway.serverType("openapi", apiServerType(gateway));
    const direct = callDirectly(gateway, config, services.limits);
    gateway.route("POST", "/:server/:tool", { ...CALLER, direct }, call);
    gateway.route("POST", "/:server/invoke", CALLER, call);
    if (config.root !== undefined) gateway.route("POST", "/:tool", CALLER, call);
    routeJobs(gateway, jobs);
    routeDocuments(gateway, config);
  },
});

/** Refuses wrong arguments behind the gate and before the server. Plugins' tools are checked by the core. */
function validateCalls(
  gateway: Pick<PluginContext, "use">,
  { validate, coerce }: Pick<Options, "validate" | "coerce">,
): void {
  gateway.use("validate", (call, next) => {
    const { tool, args = {} } = call;
    if (call.source !== "http" || !tool) return next(call);
    const given = coerce ? coerceArguments(tool.inputSchema, args) : args;
    if (validate) checkArguments(tool, given);
    return next(coerce ? amendCall(call, { args: given }) : call);
  });
}

function routeJobs(gateway: Pick<PluginContext, "route">, jobs: Jobs): void {
  gateway.route("GET", "/_jobs/:id", CALLER, ({ context }) => {
    const job = jobs.get(context.params!["id"]!, context.principal);
    return respond(200, renderJob(job), job.status === "running" ? { "retry-after": "1" } : {});
  });
  gateway.route("DELETE", "/_jobs/:id", CALLER, ({ context }) => {
    const job = jobs.get(context.params!["id"]!, context.principal);
    jobs.remove(job);
    return respond(200, renderJob(job));
  });
}
