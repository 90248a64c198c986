import { resolve } from "node:path";
import { definePlugin, optional } from "propylon";
import { Agents } from "propylon/plugins/agents";
import { Card } from "./card.ts";
import { a2aServerType } from "./client/server-type.ts";
import { contractRoutes } from "./dialect/routes.ts";
import { checkWorkDir } from "./executors/command.ts";
import { createSkills } from "./executors/create.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { placeRuntime } from "./place.ts";
import { Runtime } from "./service.ts";
import { standardFace } from "./standard/routes.ts";
import { Conversations } from "./tasks/conversations.ts";
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
    const { config } = gateway;
    const { tasks, sessions } = config;
    const engine = gateway.keep(
      "engine",
      () => new Engine(),
      (kept) => kept.close(),
    );
    gateway.serverType("a2a", a2aServerType(gateway));
    // The plugin is there for the agents of others only.
    if (config.skills.length === 0) return engine;
    const place = placeRuntime(gateway);
    const conversations = gateway.keep("conversations", () => new Conversations());
    const workDir = resolve(
      gateway.cwd,
      config.workDir ?? (process.env["WORK_DIR"] || "/workspace"),
    );
    const { agents } = gateway.services;
    const skills = await createSkills({ gateway, agents, engine, conversations, workDir });
    const card = new Card(gateway, place, [...skills.values()]);
    card.route();
    contractRoutes(gateway, engine, card, standardFace(gateway, engine, card));
    gateway.onStart(async () => {
      if (config.skills.some(({ command }) => command)) await checkWorkDir(workDir);
      const giveBack = engine.adopt({
        options: tasks,
        skills,
        call: (input) => gateway.call(input),
        log: gateway.log,
      });
      const every = Math.max(SWEEP_MS[0], Math.min(SWEEP_MS[1], tasks.age));
      const timer = setInterval(() => {
        engine.sweep();
        conversations.sweep(sessions);
      }, every);
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
