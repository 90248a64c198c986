import { resolve } from "node:path";
import { GatewayError, optional, type PluginContext } from "propylon";
import { Files, Metrics, setTicker } from "propylon/kit";
import { readVariable } from "propylon/process";
import { Store } from "propylon/store";
import { Agents } from "propylon/plugins/agents";
import { Tasks } from "propylon/plugins/tasks";
import { Card } from "./standard/card.ts";
import { contractRoutes } from "./dialect/routes.ts";
import { checkWorkDir } from "./executors/command.ts";
import { createSkills } from "./executors/create.ts";
import { registerMetrics } from "./metrics.ts";
import { environment, type A2aOptions } from "./options.ts";
import { placeRuntime } from "./place.ts";
import { standardFace } from "./standard/routes.ts";
import { Conversations } from "./tasks/conversations.ts";
import type { QueueDependencies } from "./tasks/replicas/queue-execution.ts";
import type { RequestHandler } from "./tasks/request-handler.ts";
import { RuntimeTasks } from "./tasks/runtime-tasks.ts";

/** How often what is too old is looked for, in milliseconds: at most, and at least. */
const SWEEP_MS = [1_000, 30_000] as const;

/** What a runtime works with. */
export const inject = {
  files: Files,
  metrics: Metrics,
  store: Store,
  agents: optional(Agents),
  tasks: optional(Tasks),
};
type RuntimeContext = PluginContext<A2aOptions, typeof inject>;

/**
 * Serves the skills of the config: their tasks, the card, and both dialects.
 *
 * @throws {GatewayError} for a skill that cannot work, naming it
 */
export async function serveRuntime(
  gateway: RuntimeContext,
  handler: RequestHandler,
): Promise<void> {
  const { config, services } = gateway;
  const { files, store, agents, tasks } = services;
  const conversations = gateway.keep(
    "conversations",
    () => new Conversations(store),
    (kept) => kept.close(),
  );
  const folder = config.workDir ?? readVariable(environment, "WORK_DIR") ?? "/workspace";
  const workDir = resolve(files.folder, folder);
  const place = placeRuntime(gateway);
  const skills = await createSkills({ gateway, files, agents, handler, conversations, workDir });
  const card = new Card(gateway, place, [...skills.values()]);
  const standard = standardFace(gateway, handler, card, tasks);
  contractRoutes(gateway, handler, card, standard);
  registerMetrics(services.metrics, handler);
  gateway.onStart(async () => {
    if (config.skills.some(({ command }) => command)) await checkWorkDir(workDir);
    const call: PluginContext["call"] = (input) => gateway.call(input);
    const giveBack = handler.adopt({ options: config.tasks, skills, call, log: gateway.log });
    // One that is only looked at opens no store, and takes no tasks.
    const isHandedOut = config.execution === "queue" && !gateway.info.dryRun;
    const takeTasks = isHandedOut ? handler.handOut(queueOf(gateway)) : undefined;
    await conversations.load(config.sessions);
    await handler.load();
    const endAnswers = await handler.serveOthers();
    const endQueue = await takeTasks?.();
    const endPushes = standard.begin();
    const stop = sweepNowAndThen(config, handler, conversations);
    const leave = tasks?.join(new RuntimeTasks(handler));
    return () => {
      leave?.();
      endQueue?.();
      endAnswers();
      endPushes();
      stop();
      giveBack();
    };
  });
  gateway.hook("gateway:drain", () => handler.drain());
  // At a shutdown programs end before the process does; at a reload they go on.
  gateway.onDispose(() => (handler.isDraining ? handler.close() : undefined));
}

/** @throws {GatewayError} `invalid` with a store that hands out no work */
function queueOf({ services, info, log }: RuntimeContext): QueueDependencies {
  try {
    return { queue: services.store.queue("tasks"), log, renew: (sender) => info.renew(sender) };
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new GatewayError("invalid", `plugins.a2a.execution is queue. ${reason}`, {
      cause,
      hint: "Set store: nats://... in the config, or leave plugins.a2a.execution out.",
    });
  }
}

/** @returns stops it */
function sweepNowAndThen(
  { tasks, sessions }: A2aOptions,
  handler: RequestHandler,
  conversations: Conversations,
): () => void {
  const every = Math.max(SWEEP_MS[0], Math.min(SWEEP_MS[1], tasks.ttl, sessions.ttl));
  const timer = setTicker(() => {
    handler.sweep();
    conversations.sweep(sessions);
  }, every);
  timer.unref();
  return () => clearInterval(timer);
}
