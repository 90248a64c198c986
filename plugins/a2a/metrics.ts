import { Gauge, type Registry } from "prom-client";
import { TASK_STATES } from "propylon/contract";
import type { Engine } from "./tasks/engine.ts";

/** Puts the tasks on the page of metrics. */
export function registerMetrics(registry: Registry, engine: Engine): void {
  registry.registerMetric(engine.tally.ends);
  registry.registerMetric(engine.tally.durations);
  registry.registerMetric(
    new Gauge({
      name: "a2a_tasks",
      help: "Tasks kept, by state.",
      labelNames: ["state"],
      registers: [],
      collect() {
        for (const state of TASK_STATES) this.set({ state }, 0);
        for (const { state } of engine.tasks) this.inc({ state });
      },
    }),
  );
}
