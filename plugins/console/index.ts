import { definePlugin } from "propylon";
import { EventKinds, Metrics } from "propylon/kit";
import { Database, Store } from "propylon/store";
import { McpServers } from "propylon/plugins/servers";
import { commands } from "./commands.ts";
import { createParts } from "./create-parts.ts";
import { events } from "./events.ts";
import { registerHealthMetrics, registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { registerPanels } from "./panels.ts";
import { registerRoutes } from "./routes.ts";

export type { ConsolePart } from "./data/changes.ts";
export type { ConsoleChange } from "./events.ts";
export type { AgentView, InstanceView, WorkspaceView } from "./view.ts";
export type { PickerView } from "./workspace-routes.ts";

/** The control side of agent teams: instances, workspaces, and what is attached to what. */
export default definePlugin({
  name: "console",
  config: optionsSchema,
  inject: { metrics: Metrics, openDatabase: Database, servers: McpServers, store: Store },
  commands,
  setup(gateway) {
    for (const kind of events) gateway.add(EventKinds, kind);
    const { metrics } = gateway.services;
    const parts = createParts(gateway, registerMetrics(metrics));
    registerHealthMetrics(metrics, parts.agents);
    registerRoutes(gateway, parts);
    registerPanels(gateway);
    gateway.onStart(() => parts.start());
    gateway.onDispose(() => parts.close());
  },
});
