import { definePlugin, optional, type PluginContext } from "propylon";
import { Agents } from "propylon/plugins/agents";
import { Gating } from "propylon/plugins/gating";
import { GatewayHealth } from "./health.ts";
import { createDurations, registerMetrics } from "./metrics.ts";
import { ModelChecks } from "./models.ts";
import { formerOptions, optionsSchema, type HealthOptions } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { ServerChecks } from "./servers.ts";
import { GET_HEALTH, Health } from "./service.ts";

export * from "./service.ts";

/** Longest pause between two looks at what is due, in milliseconds. */
const LOOK_MS = 1_000;

/** Knows how servers, models and agents are, and says so as `get_health`, `/healthz` and metrics. */
export default definePlugin({
  name: "health",
  config: optionsSchema,
  formerOptions,
  inject: { agents: optional(Agents), gating: optional(Gating) },
  provides: Health,
  setup(gateway) {
    const { agents, gating } = gateway.services;
    const durations = createDurations(gateway.metrics);
    const servers = new ServerChecks({
      gateway,
      gating,
      probed: (server, duration) => durations.observe({ server }, duration / 1000),
      forgotten: (server) => durations.remove({ server }),
    });
    const models = new ModelChecks(gateway, agents);
    const health = new GatewayHealth({ gateway, agents, servers, models });
    const applied = gateway.keep("applied", () => ({ at: new Date().toISOString() }));
    gateway.hook("reload:done", (report) => {
      if (report.applied) applied.at = report.at;
    });
    keepChecking(gateway, servers, models);
    registerRoutes(gateway, { health, agents, lastReload: () => applied.at });
    registerMetrics(gateway.metrics, health, { agents, servers });
    const run = async (agent: string): Promise<string> =>
      JSON.stringify(await health.ofAgent(agent));
    if (agents) gateway.onDispose(agents.offer({ ...GET_HEALTH, run }));
    return health;
  },
});

/** Renews in the background what is due, and at once what news make doubtful. */
function keepChecking(
  gateway: PluginContext<HealthOptions>,
  servers: ServerChecks,
  models: ModelChecks,
): void {
  const look = (): void => {
    servers.checks.renewDue(servers.probed);
    models.checks.renewDue(models.agents);
  };
  // Not at the start of the plugin: that sees the servers of the config before.
  gateway.hook("gateway:ready", look);
  gateway.hook("reload:done", (report) => {
    for (const server of [...report.servers.removed, ...report.servers.changed])
      servers.forget(server);
    look();
  });
  gateway.hook("server:state", (server, status) => servers.hear(server, status));
  gateway.onStart(() => {
    const timer = setInterval(look, Math.min(LOOK_MS, gateway.config.interval / 5)).unref();
    return () => {
      clearInterval(timer);
      servers.checks.close();
      models.checks.close();
    };
  });
}
