import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { Counter } from "prom-client";
import type { PluginContext, Principal } from "propylon";
import { STATES, type StreamEvent } from "propylon/contract";
import type { TaskOwner, RunningTask, RuntimeService } from "../service.ts";
import { eventToStandard } from "../contract/standard.ts";
import { stateOf } from "../contract/task.ts";
import type { PushOptions } from "./push/options.ts";
import type { PushNotification } from "./push/outbox.ts";
import { PushNotificationSender } from "./push/sender.ts";

/** Whose task it is. */
interface Owned {
  readonly principal: Principal;
}

/** Push notifications as the operations see them: which tasks have webhooks, and what they are told. */
export class Pushes {
  readonly isEnabled: boolean;
  readonly #notifications: PushNotificationSender;
  readonly #runtime: RuntimeService;

  constructor(isEnabled: boolean, notifications: PushNotificationSender, runtime: RuntimeService) {
    this.isEnabled = isEnabled;
    this.#notifications = notifications;
    this.#runtime = runtime;
  }

  /**
   * Checks a webhook that is named with a message, before anything is done about the message.
   * @param target the task that the message is for, if it names one
   * @throws {GatewayError} `invalid` for one that cannot be; `rate_limited` for one too many
   */
  check(
    config: TaskPushNotificationConfig,
    target: Pick<RunningTask, "id"> | undefined,
    { principal }: Owned,
  ): void {
    this.#notifications.check(config);
    if (!target) return;
    this.#notifications.checkRoom(this.#known(config, target.id, principal), target.id, principal);
  }

  /** Adds a webhook to a task. */
  add(
    config: TaskPushNotificationConfig,
    { id }: Pick<RunningTask, "id">,
    { principal }: Owned,
  ): Promise<TaskPushNotificationConfig> {
    this.#notifications.sweep((taskId, whose) => this.#isThere(taskId, whose));
    return this.#notifications.add(config, id, principal);
  }

  /** Adds one that was named with a message, which is told of the task at once. */
  async addWith(
    config: TaskPushNotificationConfig,
    running: RunningTask,
    owned: Owned,
  ): Promise<void> {
    const { id: taskId, task } = running;
    const { principal: owner } = owned;
    const { id } = await this.add(this.#known(config, taskId, owner), running, owned);
    this.#notifications.tell({ taskId, owner, only: id }, notificationOf({ task }));
  }

  /** Clients name their webhook with every message, mostly without an id: by its URL it is the one that the task has. */
  #known(
    config: TaskPushNotificationConfig,
    taskId: string,
    owner: TaskOwner,
  ): TaskPushNotificationConfig {
    if (config.id !== "") return config;
    const known = this.#notifications.of(taskId, owner).find(({ url }) => url === config.url);
    return known ? { ...config, id: known.id } : config;
  }

  /** The webhooks of a task. */
  of({ id }: RunningTask, { principal }: Owned): readonly TaskPushNotificationConfig[] {
    return this.#notifications.of(id, principal);
  }

  remove(id: string, task: RunningTask, { principal }: Owned): void {
    this.#notifications.remove(id, task.id, principal);
  }

  /** Tells webhooks of every change of their tasks, until the returned function is called. */
  watch(): () => void {
    const { watchers } = this.#notifications;
    watchers.add(this);
    const unwatch = this.#runtime.watchAll(({ id: taskId }, event, owner) => {
      if ([...watchers].at(-1) !== this || !this.#notifications.wants(taskId, owner)) return;
      if ("task" in event) this.#notifications.catchUp(taskId, owner, notificationOf(event));
      else this.#notifications.tell({ taskId, owner }, notificationOf(event));
    });
    return () => {
      unwatch();
      watchers.delete(this);
    };
  }

  #isThere(id: string, owner: TaskOwner): boolean {
    try {
      return this.#runtime.get(id, owner).id === id;
    } catch {
      return false;
    }
  }
}

/** The push notifications of a gateway; webhooks and what waits live through reloads. */
export function createPushes(
  gateway: PluginContext<{ readonly push: PushOptions }>,
  runtime: RuntimeService,
): Pushes {
  const { push } = gateway.config;
  const notifications = gateway.keep(
    "push",
    () => new PushNotificationSender(gateway.store),
    (kept) => kept.close(),
  );
  const pushes = new Pushes(push.enabled, notifications, runtime);
  gateway.onStart(async () => {
    notifications.use(push, gateway.log);
    if (push.enabled) await notifications.load();
    return push.enabled ? pushes.watch() : undefined;
  });
  if (push.enabled) registerMetric(gateway, notifications);
  return pushes;
}

function registerMetric(
  { metrics }: Pick<PluginContext, "metrics">,
  kept: PushNotificationSender,
): void {
  metrics.registerMetric(
    new Counter({
      name: "a2a_push_notifications_total",
      help: "Push notifications by how they ended: delivered, failed, or dropped because too many waited.",
      labelNames: ["outcome"],
      registers: [],
      collect() {
        this.reset();
        for (const [outcome, count] of Object.entries(kept.ends)) this.inc({ outcome }, count);
      },
    }),
  );
}

/** A notification as the webhook receives it: one item of a stream (A2A 1.0, 4.3.3). */
function notificationOf(event: StreamEvent): PushNotification {
  const state = stateOf(event);
  const isLast = state !== undefined && STATES[state].isFinal;
  return { body: JSON.stringify(eventToStandard(event)), isLast, status: statusOf(event) };
}

function statusOf(event: StreamEvent): string | undefined {
  if ("artifactUpdate" in event) return undefined;
  const { state, timestamp } = "task" in event ? event.task.status : event.statusUpdate.status;
  return `${state} ${timestamp}`;
}
