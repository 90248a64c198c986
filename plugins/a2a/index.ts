import { definePlugin, optional } from "propylon";
import { Agents } from "propylon/plugins/agents";
import { Card } from "./card.ts";
import { a2aServerType } from "./client/server-type.ts";
import { contractRoutes } from "./dialect/routes.ts";
import { createSkills } from "./executors/create.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { placeRuntime } from "./place.ts";
import { Runtime } from "./service.ts";
import { Engine } from "./tasks/engine.ts";

export * from "./service.ts";
export { defineSkill, type SkillArtifact, type SkillCode, type SkillTask } from "./define.ts";
export { applyEvent } from "./tasks/fold.ts";

/** How often what is too old is looked for, in milliseconds: at most, and at least. */
const SWEEP_MS = [1_000, 30_000] as const;

/** Serves agents, tools, functions and programs as an A2A runtime (R001-R004, R013, R014). */
export default definePlugin({
  name: "a2a",
  config: optionsSchema,
  inject: { agents: optional(Agents) },
  provides: Runtime,
  async setup(gateway) {
    const { tasks } = gateway.config;
    const engine = gateway.keep(
      "engine",
      () => new Engine(),
      (kept) => kept.close(),
    );
    const place = placeRuntime(gateway);
    const skills = await createSkills({ gateway, agents: gateway.services.agents, engine });
    const card = new Card(gateway, place, [...skills.values()]);
    card.route();
    gateway.serverType("a2a", a2aServerType(gateway));
    contractRoutes(gateway, engine, card);
    gateway.onStart(() => {
      const giveBack = engine.adopt({
        options: tasks,
        skills,
        call: (input) => gateway.call(input),
        log: gateway.log,
      });
      const every = Math.max(SWEEP_MS[0], Math.min(SWEEP_MS[1], tasks.age));
      const timer = setInterval(() => engine.sweep(), every);
      timer.unref();
      return () => {
        clearInterval(timer);
        giveBack();
      };
    });
    gateway.hook("gateway:drain", () => engine.drain());
    // At a shutdown programs end before the process does; at a reload they go on.
    gateway.onDispose(() => (engine.isDraining ? engine.close() : undefined));
    registerMetrics(gateway.metrics, engine);
    return engine;
  },
});
