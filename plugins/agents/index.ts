import { definePlugin, optional } from "propylon";
import { Files } from "propylon/kit";
import { AgentProgress } from "propylon/plugins/progress";
import { commands } from "./commands.ts";
import { packagesOf } from "./models/packages.ts";
import { optionsSchema, type AgentsInput } from "./options.ts";
import { findReferences } from "./references.ts";
import { Agents } from "./service.ts";

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
  // Other plugins import the service from here: what hosts agents is loaded where there are any.
  async setup(gateway) {
    const { createTeam } = await import("./team/create-team.ts");
    const { config, services } = gateway;
    return createTeam({ gateway, config, progress: services.progress });
  },
});
