import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { Counter } from "prom-client";
import type { PluginContext, Principal } from "propylon";
import { STATES, type StreamEvent } from "propylon/contract";
import type { RunningTask, RuntimeService } from "../service.ts";
import { stateOf } from "./events.ts";
import { eventToStandard } from "./mapping.ts";
import type { PushOptions } from "./options.ts";
import { PushNotifications } from "./push/notifications.ts";

/** Whose task it is. */
interface Owned {
  readonly principal: Principal;
}

/** Push notifications as the operations see them: which tasks have webhooks, and what they are told. */
export class Pushes {
  readonly isEnabled: boolean;
  readonly #notifications: PushNotifications;
  readonly #runtime: RuntimeService;

  constructor(isEnabled: boolean, notifications: PushNotifications, runtime: RuntimeService) {
    this.isEnabled = isEnabled;
    this.#notifications = notifications;
    this.#runtime = runtime;
  }

  /** @throws {GatewayError} `invalid` for a webhook that cannot be */
  check(config: TaskPushNotificationConfig): void {
    this.#notifications.check(config);
  }

  /**
   * Adds a webhook to a task.
   * @param isNew whether the task was made with it: then it is told of the task at once
   */
  add(
    config: TaskPushNotificationConfig,
    { id: taskId, task }: RunningTask,
    { principal: owner }: Owned,
    isNew = false,
  ): TaskPushNotificationConfig {
    this.#notifications.sweep((id, whose) => this.#isThere(id, whose));
    const added = this.#notifications.add(config, taskId, owner);
    if (isNew) this.#notifications.tell({ taskId, owner, only: added.id }, letterOf({ task }));
    return added;
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
    return this.#runtime.watchAll(({ id: taskId }, event, owner) => {
      if (this.#notifications.wants(taskId, owner))
        this.#notifications.tell({ taskId, owner }, letterOf(event));
    });
  }

  #isThere(id: string, owner: Principal): boolean {
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
    () => new PushNotifications(),
    (kept) => kept.close(),
  );
  const pushes = new Pushes(push.enabled, notifications, runtime);
  gateway.onStart(() => {
    notifications.use(push, gateway.log);
    return push.enabled ? pushes.watch() : undefined;
  });
  if (push.enabled) registerMetric(gateway, notifications);
  return pushes;
}

function registerMetric(
  { metrics }: Pick<PluginContext, "metrics">,
  kept: PushNotifications,
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
function letterOf(event: StreamEvent): { body: string; isLast: boolean } {
  const state = stateOf(event);
  const isLast = state !== undefined && STATES[state].isFinal;
  return { body: JSON.stringify(eventToStandard(event)), isLast };
}
