import { definePlugin, optional } from "propylon";
import { Agents } from "propylon/plugins/agents";
import { Gating } from "propylon/plugins/gating";
import { GatewayHealth } from "./health.ts";
import { createDurations, registerMetrics } from "./metrics.ts";
import { ModelChecks } from "./models.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { ServerChecks } from "./servers.ts";
import { GET_HEALTH, Health } from "./service.ts";

export * from "./service.ts";

/** Longest pause between two looks at what is due, in milliseconds. */
const LOOK_MS = 1_000;

/** Knows how servers, models and agents are, and says so as `get_health`, `/healthz` and metrics (P042-P076). */
export default definePlugin({
  name: "health",
  config: optionsSchema,
  inject: { agents: optional(Agents), gating: optional(Gating) },
  provides: Health,
  setup(gateway) {
    const { agents, gating } = gateway.services;
    const durations = createDurations(gateway.metrics);
    const servers = new ServerChecks({
      gateway,
      gating,
      probed: (server, duration) => durations.observe({ server }, duration / 1000),
    });
    const models = new ModelChecks(gateway, agents);
    const health = new GatewayHealth({ gateway, agents, servers, models });
    const applied = gateway.keep("applied", () => ({ at: new Date().toISOString() }));
    gateway.hook("upstream:state", (server, status) => servers.hear(server, status));
    const look = (): void => {
      servers.checks.renewDue(servers.probed);
      models.checks.renewDue(models.agents);
    };
    // Nobody asks before; and what starts with a config sees the servers of that config only now.
    gateway.hook("gateway:ready", look);
    gateway.hook("reload:done", (report) => {
      if (report.applied) applied.at = report.at;
      for (const server of [...report.servers.removed, ...report.servers.changed]) {
        servers.forget(server);
        durations.remove({ server });
      }
      look();
    });
    registerRoutes(gateway, { health, agents, lastReload: () => applied.at });
    registerMetrics(gateway.metrics, health, { agents, servers });
    const run = async (agent: string): Promise<string> =>
      JSON.stringify(await health.ofAgent(agent));
    if (agents) gateway.onDispose(agents.offer({ ...GET_HEALTH, run }));
    gateway.onStart(() => {
      const timer = setInterval(look, Math.min(LOOK_MS, gateway.config.interval / 5)).unref();
      return () => {
        clearInterval(timer);
        servers.checks.close();
        models.checks.close();
      };
    });
    return health;
  },
});
