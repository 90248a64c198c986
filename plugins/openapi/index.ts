import { definePlugin, optional } from "propylon";
import { Gating } from "propylon/plugins/gating";
import { RateLimits } from "propylon/plugins/ratelimit";
import { validateCalls } from "./arguments.ts";
import { commands } from "./commands.ts";
import { Jobs } from "./jobs.ts";
import { formerOptions, optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { timeStages } from "./timing.ts";

/** Every tool as an HTTP endpoint, and OpenAPI documents that describe them. */
export default definePlugin({
  name: "openapi",
  config: optionsSchema,
  formerOptions,
  commands,
  inject: { gating: optional(Gating), limits: optional(RateLimits) },
  setup(gateway) {
    const { config, services } = gateway;
    const jobs = gateway.keep(
      "jobs",
      () => new Jobs(config.jobs, gateway.store),
      (kept) => kept.close(),
    );
    if (config.serverTiming) timeStages(gateway);
    if (config.validate || config.coerce) validateCalls(gateway, config);
    registerRoutes(gateway, { ...services, options: config, jobs });
    gateway.hook("gateway:drain", () => jobs.cancelAll());
    gateway.onStart(() => {
      jobs.limits = config.jobs;
      return jobs.load();
    });
  },
});
