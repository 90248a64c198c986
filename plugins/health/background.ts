import type { PluginContext } from "propylon";
import type { ModelChecks } from "./models.ts";
import type { HealthOptions } from "./options.ts";
import type { ServerChecks } from "./servers.ts";

/** Longest pause between two looks at what is due, in milliseconds. */
const LOOK_MS = 1_000;

/** Renews in the background what is due, and at once what news make doubtful. */
export function keepChecking(
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
