import { Gauge, type Registry } from "prom-client";
import type { Store } from "./store.ts";

/** Registers `payloads_stored` and `payloads_bytes`. */
export function registerMetrics(registry: Registry, store: Store): void {
  const gauges = [
    gauge("payloads_stored", "Payloads kept now.", () => store.usage.count),
    gauge("payloads_bytes", "Bytes of the payloads kept now, as stored.", () => store.usage.bytes),
  ];
  for (const each of gauges) registry.registerMetric(each);
}

function gauge(name: string, help: string, read: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
}
