import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import type { PluginContext, Principal } from "propylon";
import { type Metrics, setTicker } from "propylon/kit";
import type { Store } from "propylon/store";
import type { Task } from "propylon/contract";
import { isSettled } from "../contract/states.ts";
import { LostReplicas } from "propylon/plugins/tasks";
import type { RunningTask, RuntimeService, SendOptions } from "../service.ts";
import { registerPushMetrics } from "./metrics.ts";
import { LeftWebhooks } from "./push/left-webhooks.ts";
import { statusKeyOf } from "./push/notification.ts";
import type { PushOptions } from "./push/options.ts";
import { type AddedWebhook, PushNotificationSender } from "./push/sender.ts";
import type { WebhookTask } from "./push/webhook-records.ts";

/** How often it is looked whether a replica died that had webhooks to tell, in milliseconds. */
const SWEEP_MS = 5_000;

/** Whose task it is. */
interface Owned {
  readonly principal: Principal;
}

/** A message whose sender named a webhook. */
interface Named {
  readonly config: TaskPushNotificationConfig;
  /** The task that the message is for, if it names one. */
  readonly target: Task | undefined;
  readonly principal: Principal;
}

interface PushesParts {
  readonly isEnabled: boolean;
  readonly notifications: PushNotificationSender;
  readonly left: LeftWebhooks;
  readonly runtime: RuntimeService;
}

/** Push notifications as the operations see them: which tasks have webhooks, and what they are told. */
export class Pushes {
  readonly isEnabled: boolean;
  readonly #notifications: PushNotificationSender;
  readonly #left: LeftWebhooks;
  readonly #runtime: RuntimeService;

  constructor({ isEnabled, notifications, left, runtime }: PushesParts) {
    this.isEnabled = isEnabled;
    this.#notifications = notifications;
    this.#left = left;
    this.#runtime = runtime;
  }

  /**
   * Sends a message whose webhook hears of all that comes of it: it is in the store before anybody works on the message.
   * @throws {GatewayError} `invalid` for a webhook that cannot be, `rate_limited` for one too many: the message is not taken; what
   * `send` throws
   */
  async send(
    { config, target, principal }: Named,
    send: (prepare: SendOptions["prepare"]) => Promise<RunningTask>,
  ): Promise<RunningTask> {
    this.#notifications.check(config);
    if (target) await this.#notifications.checkRoom(config, taskOf(target, { principal }));
    let prepared: (AddedWebhook & { readonly task: WebhookTask }) | undefined;
    const add = async ({ id }: Pick<Task, "id">) => {
      const task = taskOf({ id }, { principal });
      const added = await this.#notifications.add(config, task, { byUrl: true });
      return { ...added, task };
    };
    try {
      const running = await send(async (task) => void (prepared = await add(task)));
      // It met a task that was there.
      if (!prepared) this.#tellEnd(running.task, await add(running), { principal });
      return running;
    } catch (error) {
      if (prepared?.isNew)
        await this.#notifications.remove(prepared.config.id, prepared.task).catch(() => {});
      throw error;
    }
  }

  /**
   * Adds a webhook to a task, which hears of what happens from now on.
   * @throws {GatewayError} as {@link PushNotificationSender.add}
   */
  async add(
    config: TaskPushNotificationConfig,
    task: Task,
    owned: Owned,
  ): Promise<TaskPushNotificationConfig> {
    const told = statusKeyOf({ task });
    return (await this.#notifications.add(config, taskOf(task, owned), { told })).config;
  }

  /** The webhooks of a task. */
  of(task: Task, owned: Owned): Promise<readonly TaskPushNotificationConfig[]> {
    return this.#notifications.of(taskOf(task, owned));
  }

  remove(id: string, task: Task, owned: Owned): Promise<void> {
    return this.#notifications.remove(id, taskOf(task, owned));
  }

  /** Tells webhooks of every change of their tasks, until the returned function is called. */
  watch(): () => void {
    const { watchers } = this.#notifications;
    const endNotices = this.#notifications.hearChanges();
    watchers.add(this);
    const unwatch = this.#runtime.watchAll((task, event, owner) => {
      if ([...watchers].at(-1) !== this) return;
      // One that was read from the store; the replica that settled it tells of it.
      if ("task" in event && isSettled(task.status.state)) return;
      this.#notifications.hear(owner, event, task);
    });
    const undrop = this.#runtime.watchDropped((taskId, owner) =>
      this.#notifications.forget({ taskId, owner }),
    );
    return () => {
      endNotices();
      undrop();
      unwatch();
      watchers.delete(this);
    };
  }

  /** Tells now and then what replicas left untold that died. @returns ends that */
  lookAfterOthers(): () => void {
    if (!this.isEnabled) return () => {};
    void this.#left.sweep();
    const timer = setTicker(() => void this.#left.sweep(), SWEEP_MS).unref();
    return () => clearInterval(timer);
  }

  /** Nobody works on it any more who would tell a webhook that it has only now. */
  #tellEnd(task: Task, { isNew }: AddedWebhook, { principal }: Owned): void {
    if (isNew && isSettled(task.status.state)) this.#notifications.hear(principal, { task }, task);
  }
}

function taskOf({ id }: Pick<Task, "id">, { principal }: Owned): WebhookTask {
  return { taskId: id, owner: principal };
}

/** What push notifications work with. */
export type PushContext = PluginContext<
  { readonly push: PushOptions },
  { readonly metrics: typeof Metrics; readonly store: typeof Store }
>;

/** The push notifications of a gateway; webhooks and what waits live through reloads. */
export function createPushes(gateway: PushContext, runtime: RuntimeService): Pushes {
  const { push } = gateway.config;
  const { metrics, store } = gateway.services;
  const notifications = gateway.keep(
    "push",
    () => new PushNotificationSender(store),
    (kept) => kept.close(),
  );
  const left = gateway.keep("left-webhooks", () => {
    const replicas = new LostReplicas(store);
    return new LeftWebhooks({ sender: notifications, runtime, replicas });
  });
  const pushes = new Pushes({ isEnabled: push.enabled, notifications, left, runtime });
  gateway.onStart(() => {
    notifications.use(push, gateway.log);
    return push.enabled ? pushes.watch() : undefined;
  });
  if (push.enabled) registerPushMetrics(metrics, notifications);
  return pushes;
}
