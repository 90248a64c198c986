import { Gauge, Histogram, type Registry } from "prom-client";
import type { AgentsService } from "propylon/plugins/agents";
import type { ServerChecks } from "./servers.ts";
import type { HealthReport, HealthService } from "./service.ts";
import { statusOfServer } from "./verdict.ts";

/** As the console's own gauge has it. */
const VALUE: Readonly<Record<HealthReport["status"], number>> = { ok: 1, degraded: 0.5, error: 0 };

/** How long probes took, answered or not. */
export function createProbeDurations(registry: Registry): Histogram<"server"> {
  return new Histogram({
    name: "health_probe_duration_seconds",
    help: "Time until a probe of a server was answered or given up.",
    labelNames: ["server"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10],
    registers: [registry],
  });
}

/** `health_status` and `server_health`, read when scraped from what every other face shows. */
export function registerMetrics(
  registry: Registry,
  health: HealthService,
  {
    agents,
    servers,
  }: { readonly agents: AgentsService | undefined; readonly servers: ServerChecks },
): void {
  const ofAgents = new Gauge({
    name: "health_status",
    help: "Health of an agent: 1 ok, 0.5 degraded, 0 error.",
    labelNames: ["agent"],
    registers: [],
    async collect() {
      this.reset();
      const reports = (agents?.list() ?? []).map(
        async ({ name }) => [name, await health.ofAgent(name)] as const,
      );
      for (const [agent, { status }] of await Promise.all(reports))
        this.set({ agent }, VALUE[status]);
    },
  });
  const ofServers = new Gauge({
    name: "server_health",
    help: "Health of a server by its last probe: 1 healthy, 0.5 slow or partly working, 0 not reachable.",
    labelNames: ["server"],
    registers: [],
    collect() {
      this.reset();
      for (const server of servers.probed) {
        const known = health.ofServer(server);
        if (known) this.set({ server }, VALUE[statusOfServer(known)]);
      }
    },
  });
  registry.registerMetric(ofAgents);
  registry.registerMetric(ofServers);
}
