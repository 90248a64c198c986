import type { PluginContext, Service } from "propylon";
import { createSealer, type Metrics } from "propylon/kit";
import type { OpenDatabase, Store } from "propylon/store";
import type { McpServersService } from "propylon/plugins/servers";
import { ConsoleChanges } from "./data/changes.ts";
import { ConnectedAgents } from "./agents/connected-agents.ts";
import { Chat } from "./agents/chat.ts";
import { Console } from "./console.ts";
import { ConsoleDatabase } from "./data/database.ts";
import { HostKeys } from "./agents/host-keys.ts";
import { Instances } from "./agents/instances.ts";
import { IssuerClient } from "./registry/issuer-client.ts";
import { KeyedQueue } from "./data/keyed-queue.ts";
import { registerTurns, type TeamMetrics } from "./metrics.ts";
import { type ConsoleOptions, healthIntervalOf } from "./options.ts";
import { Reconciler } from "./reconciler.ts";
import { RegistryReader } from "./registry/registry-reader.ts";
import { TeamRows } from "./data/team-rows.ts";
import { ConsoleTeams } from "./console-teams.ts";
import { Workspaces } from "./agents/workspaces.ts";

/** Everything that the console is made of, not started yet. */
export function createParts(
  gateway: PluginContext<
    ConsoleOptions,
    {
      readonly metrics: typeof Metrics;
      readonly openDatabase: Service<OpenDatabase>;
      readonly servers: Service<McpServersService>;
      readonly store: typeof Store;
    }
  >,
  metrics: TeamMetrics,
) {
  const { config, log, services } = gateway;
  const { store } = services;
  const ended = new AbortController();
  const { signal } = ended;
  const changes = new ConsoleChanges((part, change) => gateway.emit("console", { part, change }));
  const database = new ConsoleDatabase(changes);
  const instances = new Instances(database, config.maxInstances);
  const workspaces = new Workspaces(database, config);
  const rows = new TeamRows(database);
  const registry = new RegistryReader(config);
  const keys = new HostKeys(config.secretKeys);
  const queue = new KeyedQueue();
  const issuer = config.issuer && new IssuerClient(config.issuer);
  const shared = { log, instances, workspaces, rows, metrics, queue, changes, signal };
  const sealer = issuer && createSealer("console", config.secretKeys);
  const teams = issuer && sealer && new ConsoleTeams({ ...shared, store, issuer, sealer });
  const interval = healthIntervalOf(config);
  const agents = new ConnectedAgents({
    ...shared,
    config,
    interval,
    servers: services.servers,
    keys,
  });
  return {
    instances,
    workspaces,
    teams,
    agents,
    chat: new Chat({ config, instances, workspaces, agents }),
    turns: registerTurns(services.metrics),
    desk: new Console({ ...shared, registry, keys, teams, agents }),
    async start(): Promise<void> {
      if (gateway.info.dryRun) return;
      await database.open(services.openDatabase);
      await changes.start(store);
      await agents.start();
      if (!teams) return;
      const reconciler = new Reconciler({
        teams,
        rows,
        metrics: metrics.reconcile,
        log,
        interval: config.interval,
      });
      reconciler.run(store, signal).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, "the reconciler has ended");
      });
    },
    async close(): Promise<void> {
      ended.abort();
      await Promise.all([registry.close(), issuer?.close(), agents.close(), changes.close()]);
    },
  };
}
