import { Counter, Gauge, type Registry } from "prom-client";
import type { Lifecycle } from "./lifecycle.ts";

/** Read from the agents when scraped. */
export function registerMetrics(registry: Registry, lifecycle: Lifecycle): void {
  for (const state of ["running", "ready"] as const)
    registry.registerMetric(
      new Gauge({
        name: `agents_${state}`,
        help: `Agents that are ${state}.`,
        registers: [],
        collect() {
          this.set(lifecycle.counts[state]);
        },
      }),
    );
  registry.registerMetric(
    new Counter({
      name: "agents_total",
      help: "Agents that came to a final state.",
      labelNames: ["status"],
      registers: [],
      collect() {
        this.reset();
        for (const [status, count] of Object.entries(lifecycle.ends)) this.inc({ status }, count);
      },
    }),
  );
}
