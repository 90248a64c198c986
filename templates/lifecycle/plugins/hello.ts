import { Histogram } from "prom-client";
import { definePlugin } from "propylon";
import { Metrics } from "propylon/kit";
import { z } from "zod";

/** Steps of the agents: a tool with which an agent reports one, a route that shows them, and a metric. They survive a reload. */
export default definePlugin({
  name: "hello",
  config: z.strictObject({
    maxSteps: z.int().min(1).default(100).describe("Steps that are kept; the oldest makes way."),
  }),
  inject: { metrics: Metrics },
  setup(gateway) {
    const { maxSteps } = gateway.config;
    const steps = gateway.keep("steps", () => [] as object[]);
    const effort = new Histogram({
      name: "hello_step_minutes",
      help: "Minutes that agents say a step took.",
      buckets: [1, 5, 15, 60],
      registers: [gateway.services.metrics],
    });

    gateway.tool("report_step", {
      description: "Reports a step of the work that is done. Call it after each step.",
      input: z.object({
        what: z.string().min(1).describe("What was done, in one sentence."),
        minutes: z.number().min(0).describe("How long it took."),
      }),
      run({ what, minutes }, { principal }) {
        effort.observe(minutes);
        steps.unshift({ at: new Date().toISOString(), by: principal.id, what, minutes });
        steps.splice(maxSteps);
        return "It is noted.";
      },
    });

    gateway.route("GET", "/steps", { access: "viewer", mutates: false }, () => ({ steps }));
  },
});
