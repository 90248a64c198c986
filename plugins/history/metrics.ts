import { Counter, type Registry } from "prom-client";

/** Registers `history_dropped_total`. */
export function registerMetrics(registry: Registry, dropped: () => number): void {
  const counter = new Counter({
    name: "history_dropped_total",
    help: "Calls that made room for newer ones before the store had them: gone with the next restart.",
    registers: [],
    collect() {
      this.reset();
      this.inc(dropped());
    },
  });
  registry.registerMetric(counter);
}
