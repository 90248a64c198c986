import { Counter, Gauge, type Registry } from "prom-client";
import type { Store } from "./store.ts";

/** Registers `payloads_not_stored_total`; the function counts one. */
export function notStoredCounter(registry: Registry): (code: string) => void {
  const counter = new Counter({
    name: "payloads_not_stored_total",
    help: "Large results that were sent whole, by why: too_large = no room, unavailable = the store is away.",
    labelNames: ["code"],
    registers: [registry],
  });
  return (code) => counter.inc({ code });
}

/** Registers `payloads_bucket_failures_total`; the function counts one. */
export function bucketFailureCounter(
  registry: Registry,
): (operation: string, reason: string) => void {
  const counter = new Counter({
    name: "payloads_bucket_failures_total",
    help: "Attempts at the bucket that failed, by operation (get, put, delete) and why.",
    labelNames: ["operation", "reason"],
    registers: [registry],
  });
  return (operation, reason) => counter.inc({ operation, reason });
}

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
