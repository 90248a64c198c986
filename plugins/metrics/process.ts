import { performance } from "node:perf_hooks";
import type { Exposition } from "./exposition.ts";

/**
 * Figures of the process under the names that Prometheus libraries agree on. The library's own set starts timers that nothing
 * stops, and some of its names do not pass promtool.
 */
export function exposeProcess(page: Exposition): void {
  const started = Date.now() / 1_000 - process.uptime();
  let before = performance.eventLoopUtilization();
  page.counter("process_cpu_seconds_total", "Processor time of the process.", [], () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1_000_000]];
  });
  page.gauge(
    "process_start_time_seconds",
    "Start of the process since the epoch.",
    [],
    () => [[{}, started]],
    "min",
  );
  page.gauge("process_resident_memory_bytes", "Resident memory.", [], () => [
    [{}, process.memoryUsage.rss()],
  ]);
  page.gauge("nodejs_heap_size_used_bytes", "Heap in use.", [], () => [
    [{}, process.memoryUsage().heapUsed],
  ]);
  page.gauge(
    "nodejs_eventloop_utilization_ratio",
    "Share of the time since the last scrape in which the event loop was busy.",
    [],
    () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return [[{}, utilization]];
    },
    "average",
  );
}
