import { definePlugin, optional } from "propylon";
import { Endpoints, Files, Listeners } from "propylon/kit";
import { AgentProgress } from "propylon/plugins/progress";
import { ChangeTimes } from "./team/change-times.ts";
import { commands } from "./commands.ts";
import { createMembers } from "./team/members.ts";
import { packagesOf } from "./models/provider.ts";
import { Offers } from "./agent/offers.ts";
import { optionsSchema, type AgentsInput } from "./options.ts";
import { findReferences } from "./references.ts";
import { Agents } from "./service.ts";
import { Team } from "./team/team.ts";

export * from "./service.ts";
export {
  defineAgent,
  type AgentCode,
  type AgentRun,
  type ImagePart,
  type ToolOutcome,
} from "./define.ts";
export type * from "./model.ts";

declare module "propylon" {
  interface ConfigSections {
    /** Agents by name: the option `agents` of the plugin. */
    agents?: AgentsInput;
  }
}

/** Hosts agents: each is an MCP server with an endpoint of its own. */
export default definePlugin({
  name: "agents",
  config: optionsSchema,
  section: { key: "agents", option: "agents" },
  commands,
  inject: { files: Files, progress: optional(AgentProgress) },
  provides: Agents,
  needs: (options) => ({
    references: findReferences(options),
    packages: packagesOf(options.providers),
  }),
  async setup(gateway) {
    const changes = gateway.keep("changes", () => new ChangeTimes());
    changes.begin();
    const offers = new Offers();
    const { config, services } = gateway;
    const { progress } = services;
    const members = await createMembers({ gateway, config, progress, offers, changes });
    for (const { server, place } of members.values()) {
      gateway.server(server);
      const { name, endpoint, listener } = place;
      gateway.add(Endpoints, { ...endpoint, name });
      if (listener) gateway.add(Listeners, { ...listener, name });
    }
    gateway.onStart(() => changes.settle());
    return new Team(gateway, members, offers);
  },
});
