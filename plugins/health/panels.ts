import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";

/** How the agents are, in a web interface. */
export function registerPanels(gateway: Pick<PluginContext, "add">): void {
  gateway.add(Panels, {
    id: "agents",
    title: "Agents",
    place: "page",
    access: "viewer",
    view: {
      table: {
        from: "GET /_meta/health",
        rows: "/agents",
        live: "agent_state",
        columns: [
          { label: "Agent", value: "/_key" },
          { label: "Health", value: "/status", as: "state" },
          { label: "Reason", value: "/message" },
          { label: "Checked", value: "/timestamp", as: "time" },
        ],
        empty: "There is no agent: see agents in the config.",
      },
    },
  });
}
