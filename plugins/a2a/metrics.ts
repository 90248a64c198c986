import { Gauge, type Registry } from "prom-client";
import { TASK_STATES } from "propylon/contract";
import type { RequestHandler } from "./tasks/request-handler.ts";

/** Puts the tasks on the page of metrics. */
export function registerMetrics(registry: Registry, handler: RequestHandler): void {
  registry.registerMetric(handler.counts.ends);
  registry.registerMetric(handler.counts.durations);
  registry.registerMetric(handler.counts.deliveries);
  registry.registerMetric(handler.counts.refusals);
  registry.registerMetric(
    new Gauge({
      name: "a2a_tasks",
      help: "Tasks kept, by state.",
      labelNames: ["state"],
      registers: [],
      collect() {
        for (const state of TASK_STATES) this.set({ state }, 0);
        for (const { state } of handler.tasks) this.inc({ state });
      },
    }),
  );
}
