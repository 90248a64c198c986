import { Counter, Gauge, type Registry } from "prom-client";
import type { Circuits } from "./circuits.ts";
import type { BreakerStatus } from "./service.ts";

const VALUE: Readonly<Record<BreakerStatus["state"], number>> = {
  closed: 0,
  "half-open": 1,
  open: 2,
};

/** `breaker_state` and `breaker_opened_total`, read from the circuits when scraped: a call counts nothing. */
export function registerMetrics(registry: Registry, circuits: Circuits): void {
  registry.registerMetric(
    new Gauge({
      name: "breaker_state",
      help: "State of a server's circuit: 0 closed, 1 half-open, 2 open.",
      labelNames: ["server"],
      registers: [],
      collect() {
        this.reset();
        for (const [server, { state }] of circuits.memories) this.set({ server }, VALUE[state]);
      },
    }),
  );
  registry.registerMetric(
    new Counter({
      name: "breaker_opened_total",
      help: "How often a server's circuit opened.",
      labelNames: ["server"],
      registers: [],
      collect() {
        this.reset();
        for (const [server, { opened }] of circuits.memories) this.inc({ server }, opened);
      },
    }),
  );
}
