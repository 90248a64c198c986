import { Counter, Gauge, type Registry } from "prom-client";
import type { Cap } from "./cap.ts";

/** Registers `ratelimit_rejected_total`; the function counts one. */
export function rejectedCounter(registry: Registry): (rule: string) => void {
  const counter = new Counter({
    name: "ratelimit_rejected_total",
    help: "Calls refused with rate_limited, by rule.",
    labelNames: ["rule"],
    registers: [registry],
  });
  return (rule) => counter.inc({ rule });
}

/** Registers `ratelimit_in_flight` and `ratelimit_queue_depth`, read from the bounds when scraped. */
export function registerMetrics(registry: Registry, caps: readonly Cap[]): void {
  const figures = [
    ["ratelimit_in_flight", "Calls that run under a bound, by rule.", "active"],
    ["ratelimit_queue_depth", "Calls that wait for a bound, by rule.", "waiting"],
  ] as const;
  for (const [name, help, figure] of figures)
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ["rule"],
        registers: [],
        collect() {
          for (const cap of caps) this.set({ rule: cap.name }, cap[figure]);
        },
      }),
    );
}
