import { definePlugin, optional } from "propylon";
import { Audit, Metrics } from "propylon/kit";
import { Store } from "propylon/store";
import { Agents } from "propylon/plugins/agents";
import { Payloads } from "propylon/plugins/payloads";
import { Tasks } from "propylon/plugins/tasks";
import { AgentTasks } from "./agent-tasks.ts";
import { takersOf } from "./run/dependencies.ts";
import { Lifecycle } from "./lifecycle.ts";
import { registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { registerRoutes } from "./routes.ts";
import { registerSockets } from "./socket-routes.ts";
import { registerTools } from "./tools.ts";

/** Agents that any client can start, watch, complete and stop. */
export default definePlugin({
  name: "lifecycle",
  config: optionsSchema,
  inject: {
    audit: Audit,
    metrics: Metrics,
    store: Store,
    agents: Agents,
    payloads: optional(Payloads),
    tasks: optional(Tasks),
  },
  setup(gateway) {
    const { config: options, log } = gateway;
    const { agents, metrics, payloads, store, tasks } = gateway.services;
    const lifecycle = gateway.keep(
      "lifecycle",
      () => new Lifecycle(store),
      (kept) => kept.close(),
    );
    registerTools(gateway, lifecycle, payloads !== undefined);
    registerRoutes(gateway, lifecycle);
    registerSockets(gateway, lifecycle);
    registerMetrics(metrics, lifecycle);
    // What runs has the whole grace time, as a call in flight has.
    gateway.hook("gateway:drain", ({ waitUntil, signal }) => {
      signal.addEventListener("abort", () => void lifecycle.close(), { once: true });
      waitUntil(lifecycle.drain());
    });
    gateway.onStart(async () => {
      const takers = takersOf(options, agents);
      const giveBack = lifecycle.adopt({ options, agents, takers, payloads, log });
      const endAnswers = await lifecycle.open();
      const stop = lifecycle.tend(options.retention.ttl);
      const leave = tasks?.join(new AgentTasks(lifecycle));
      return () => {
        for (const end of [leave, endAnswers, stop, giveBack]) end?.();
      };
    });
    // At a shutdown what is left ends while the agents plugin is still there; at a reload it goes on.
    gateway.onDispose(() => (lifecycle.isDraining ? lifecycle.close() : undefined));
  },
});
