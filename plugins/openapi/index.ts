import { definePlugin, optional } from "propylon";
import { Gating } from "propylon/plugins/gating";
import { RateLimits } from "propylon/plugins/ratelimit";
import { Tasks } from "propylon/plugins/tasks";
import { validateCalls } from "./arguments.ts";
import { commands } from "./commands.ts";
import { jobLimits } from "./call/job.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { timeStages } from "./call/timing.ts";

export { findProblems } from "./check/check.ts";

/** Every tool as an HTTP endpoint, and OpenAPI documents that describe them. */
export default definePlugin({
  name: "openapi",
  config: optionsSchema,
  commands,
  inject: { gating: optional(Gating), limits: optional(RateLimits), tasks: optional(Tasks) },
  setup(gateway) {
    const { config, services } = gateway;
    const { tasks } = services;
    const jobs = tasks?.open("jobs", jobLimits(config.jobs));
    if (config.serverTiming) timeStages(gateway);
    if (config.validate || config.coerce) validateCalls(gateway, config);
    registerRoutes(gateway, { ...services, options: config, jobs });
    if (!jobs) return;
    gateway.hook("gateway:drain", () => jobs.cancelAll());
    gateway.onStart(() => {
      jobs.limits = jobLimits(config.jobs);
      return jobs.load();
    });
  },
});
