import { definePlugin, optional } from "propylon";
import { Agents } from "propylon/plugins/agents";
import { formerAgentOptions, agentOptions } from "./client/options.ts";
import { a2aServerType } from "./client/server-type.ts";
import { formerOptions, optionsSchema } from "./options.ts";
import { serveRuntime } from "./runtime.ts";
import { Runtime } from "./service.ts";
import { Engine } from "./tasks/engine.ts";

export * from "./service.ts";
export { defineSkill, type SkillArtifact, type SkillCode, type SkillTask } from "./define.ts";

/** Serves agents, tools, functions and programs as an A2A runtime. */
export default definePlugin({
  name: "a2a",
  config: optionsSchema,
  formerOptions,
  serverTypes: { a2a: agentOptions },
  formerServerOptions: { a2a: formerAgentOptions },
  inject: { agents: optional(Agents) },
  provides: Runtime,
  async setup(gateway) {
    const engine = gateway.keep(
      "engine",
      () => new Engine(),
      (kept) => kept.close(),
    );
    gateway.serverType("a2a", a2aServerType(gateway));
    // Without skills the plugin is there for the agents of others only.
    if (gateway.config.skills.length > 0)
      await serveRuntime(gateway, engine, gateway.services.agents);
    return engine;
  },
});
