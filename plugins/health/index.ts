import { definePlugin, optional } from "propylon";
import { EventKinds, Metrics } from "propylon/kit";
import { Agents } from "propylon/plugins/agents";
import { Gating } from "propylon/plugins/gating";
import { keepChecking } from "./background.ts";
import { events } from "./events.ts";
import { GatewayHealth } from "./health.ts";
import { createProbeDurations, registerMetrics } from "./metrics.ts";
import { ModelChecks } from "./models.ts";
import { optionsSchema } from "./options.ts";
import { registerPanels } from "./panels.ts";
import { registerRoutes } from "./routes.ts";
import { ServerChecks } from "./servers.ts";
import { GET_HEALTH, Health } from "./service.ts";
import { VerdictWatch } from "./verdict-watch.ts";

export type { AgentVerdict, ServerVerdict } from "./events.ts";
export * from "./service.ts";

/** Knows how servers, models and agents are, and says so as `get_health`, `/healthz` and metrics. */
export default definePlugin({
  name: "health",
  config: optionsSchema,
  inject: { metrics: Metrics, agents: optional(Agents), gating: optional(Gating) },
  provides: Health,
  setup(gateway) {
    for (const kind of events) gateway.add(EventKinds, kind);
    const { agents, gating, metrics } = gateway.services;
    const durations = createProbeDurations(metrics);
    const servers = new ServerChecks({
      gateway,
      gating,
      probed(server, duration) {
        durations.observe({ server }, duration / 1000);
        watch.soon();
      },
      forgotten: (server) => durations.remove({ server }),
    });
    const models = new ModelChecks(gateway, agents);
    const health = new GatewayHealth({ gateway, agents, servers, models });
    const watch = new VerdictWatch(gateway, () => health.known);
    const applied = gateway.keep("applied", () => ({ at: new Date().toISOString() }));
    registerRoutes(gateway, { health, agents, lastReload: () => applied.at });
    registerMetrics(metrics, health, { agents, servers });
    if (agents) registerPanels(gateway);
    gateway.hook("reload:done", (report) => {
      if (report.applied) applied.at = report.at;
    });
    keepChecking(gateway, servers, models, watch);
    const run = async (agent: string): Promise<string> =>
      JSON.stringify(await health.ofAgent(agent));
    if (agents) gateway.onDispose(agents.offer({ ...GET_HEALTH, run }));
    return health;
  },
});
