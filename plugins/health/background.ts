import type { PluginContext } from "propylon";
import type { ModelChecks } from "./models.ts";
import type { HealthOptions } from "./options.ts";
import type { ServerChecks } from "./servers.ts";
import type { VerdictWatch } from "./verdict-watch.ts";

/** Longest pause between two looks at what is due, in milliseconds. */
const LOOK_MS = 1_000;

/** Renews in the background what is due, and at once what news make doubtful; tells of verdicts that changed. */
export function keepChecking(
  gateway: PluginContext<HealthOptions>,
  servers: ServerChecks,
  models: ModelChecks,
  watch: VerdictWatch,
): void {
  const look = (): void => {
    servers.checks.renewDue(servers.probed);
    models.checks.renewDue(models.agents);
    watch.compare();
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
      watch.close();
      servers.checks.close();
      models.checks.close();
    };
  });
}
