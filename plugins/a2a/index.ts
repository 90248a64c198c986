import { definePlugin } from "propylon";
import { optionsSchema, storeNeedsOf } from "./options.ts";
import { inject, serveRuntime } from "./runtime.ts";
import { Runtime } from "./service.ts";
import { RequestHandler } from "./tasks/request-handler.ts";

export * from "./service.ts";
export { defineSkill, type SkillArtifact, type SkillCode, type SkillTask } from "./define.ts";

/** Serves agents, tools, functions and programs as an A2A runtime. */
export default definePlugin({
  name: "a2a",
  config: optionsSchema,
  needs: (options) => ({ store: storeNeedsOf(options) }),
  inject,
  provides: Runtime,
  async setup(gateway) {
    const handler = gateway.keep(
      "handler",
      () => new RequestHandler(gateway.services.store),
      (kept) => kept.close(),
    );
    // Without skills it serves nothing, as in configs that have it for servers of type a2a.
    if (gateway.config.skills.length > 0) await serveRuntime(gateway, handler);
    return handler;
  },
});
