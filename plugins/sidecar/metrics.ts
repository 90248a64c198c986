import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Ending } from "./execution/ending.ts";
import type { Transport } from "./message/transport.ts";
import type { Worker } from "./execution/worker.ts";

const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600];

/** Registers the metrics. @returns told of every delivery how it ended and how long it took, in milliseconds */
export function registerMetrics(
  registry: Registry,
  transport: Transport,
  worker: Worker,
): (ending: Ending, attempt: number, duration: number) => void {
  const tasks = counter("sidecar_deliveries_total", "Deliveries by how they ended.", ["outcome"]);
  const dead = counter("sidecar_dead_letters_total", "Tasks given up, by reason.", ["reason"]);
  const again = counter("sidecar_redeliveries_total", "Deliveries that were not the first.", []);
  const seconds = new Histogram({
    name: "sidecar_task_duration_seconds",
    help: "From delivery to ack or hand-back.",
    buckets: SECONDS,
    registers: [],
  });
  for (const metric of [tasks, dead, again, seconds]) registry.registerMetric(metric);
  registerGauges(registry, transport, worker);
  return (ending, attempt, duration) => {
    tasks.inc({ outcome: ending.outcome });
    seconds.observe(duration / 1_000);
    if (attempt > 1) again.inc();
    if (ending.outcome === "dead") dead.inc({ reason: ending.failure.reason });
  };
}

function registerGauges(registry: Registry, transport: Transport, worker: Worker): void {
  const lag = new Gauge({
    name: "sidecar_queue_tasks",
    help: "Tasks in the queue: waiting, or with a worker.",
    labelNames: ["state"],
    registers: [],
    async collect() {
      // Without the queue there is nothing to tell, and a scrape must not fail for it.
      const counts = await transport.lag().catch(() => undefined);
      this.reset();
      for (const [state, count] of Object.entries(counts ?? {})) this.set({ state }, count);
    },
  });
  const running = new Gauge({
    name: "sidecar_tasks_running",
    help: "Tasks that run here.",
    registers: [],
    collect() {
      this.set(worker.tasks.length);
    },
  });
  const ready = new Gauge({
    name: "sidecar_ready",
    help: "1 while queue and runtime are there and tasks are taken, else 0.",
    registers: [],
    collect() {
      this.set(worker.state === "ready" ? 1 : 0);
    },
  });
  for (const metric of [lag, running, ready]) registry.registerMetric(metric);
}

function counter<L extends string>(name: string, help: string, labelNames: L[]): Counter<L> {
  return new Counter({ name, help, labelNames, registers: [] });
}
