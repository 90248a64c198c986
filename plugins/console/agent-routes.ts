import type { PluginContext } from "propylon";
import type { ConnectedAgents } from "./agents/connected-agents.ts";
import { toAgentView } from "./view.ts";

/** What the routes work with. */
export interface AgentFaces {
  readonly agents: ConnectedAgents;
}

/** How the agents of all attached instances are. */
export function registerAgents(gateway: PluginContext, { agents }: AgentFaces): void {
  gateway.route("GET", "/api/v1/agents", { access: "viewer", mutates: false }, () => ({
    agents: [...agents.connected].map(({ row }) => ({
      ...toAgentView(row, agents),
      instance: row.instance_name,
    })),
  }));
}
