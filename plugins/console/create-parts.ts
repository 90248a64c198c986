import type { PluginContext } from "propylon";
import { createSealer } from "propylon/kit";
import { Console } from "./console.ts";
import { ConsoleDatabase } from "./database.ts";
import { Instances } from "./instances.ts";
import { IssuerClient } from "./issuer-client.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import type { TeamMetrics } from "./metrics.ts";
import type { ConsoleOptions } from "./options.ts";
import { Reconciler } from "./reconciler.ts";
import { RegistryReader } from "./registry-reader.ts";
import { TeamRows } from "./team-rows.ts";
import { ConsoleTeams } from "./console-teams.ts";
import { Workspaces } from "./workspaces.ts";

/** Everything that the console is made of, not started yet. */
export function createParts(gateway: PluginContext<ConsoleOptions>, metrics: TeamMetrics) {
  const { config, log, store } = gateway;
  const ended = new AbortController();
  const { signal } = ended;
  const database = new ConsoleDatabase();
  const instances = new Instances(database, config.maxInstances);
  const workspaces = new Workspaces(database, config.maxWorkspaces);
  const rows = new TeamRows(database);
  const registry = new RegistryReader(config);
  const queue = new KeyedQueue();
  const issuer = config.issuer && new IssuerClient(config.issuer);
  const shared = { log, instances, workspaces, rows, metrics, queue, signal };
  const sealer = issuer && createSealer("console", config.secretKeys);
  const teams = issuer && sealer && new ConsoleTeams({ ...shared, store, issuer, sealer });
  return {
    instances,
    workspaces,
    teams,
    desk: new Console({ ...shared, registry, teams }),
    async start(): Promise<void> {
      if (gateway.control.dryRun) return;
      await database.open(gateway.database);
      if (!teams) return;
      const { interval } = config;
      const reconciler = new Reconciler({ teams, rows, metrics: metrics.reconcile, log, interval });
      reconciler.run(store, signal).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, "the reconciler has ended");
      });
    },
    async close(): Promise<void> {
      ended.abort();
      await Promise.all([registry.close(), issuer?.close()]);
    },
  };
}
