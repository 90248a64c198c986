import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { GatewayError, type PluginContext } from "propylon";
import { Recent, within } from "propylon/kit";
import type { Resolve } from "propylon/internal";
import type { Store } from "propylon/store";
import type { StreamEvent, Task } from "propylon/contract";
import { isSettled } from "../../contract/states.ts";
import { NotifiedTask, type NotifiedTaskHost } from "./notified-task.ts";
import type { PushOptions } from "./options.ts";
import { Outbox, type OutboxLimits, type PushNotification } from "./outbox.ts";
import {
  configOf,
  type HookRecord,
  webhookKey,
  type WebhookRecord,
  WebhookRecords,
  type WebhookTask,
} from "./webhook-records.ts";
import { Webhooks } from "./webhook.ts";

/** Webhooks of one task. */
const MOST_PER_TASK = 16;
/** Tasks at work of which it is remembered that they have no webhook. */
const MAX_WITHOUT = 20_000;
/** Header of the token (A2A 1.0, 4.3.3), where there are no credentials for `Authorization`. */
const TOKEN_HEADER = "x-a2a-notification-token";
/** Header of the id of a notification (Standard Webhooks 1.0): every attempt has the same, so that receivers can tell. */
const ID_HEADER = "webhook-id";
const CONTENT_TYPE = "application/a2a+json";
const SCHEME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const VISIBLE = /^[\x20-\x7e]{0,8192}$/;

/** What a reload may change. */
interface Dependencies {
  readonly options: PushOptions;
  readonly webhooks: Webhooks;
  readonly log: PluginContext["log"];
}

/** A webhook that is there now. */
export interface AddedWebhook {
  readonly config: TaskPushNotificationConfig;
  /** Whether it was not there before. */
  readonly isNew: boolean;
}

/**
 * The webhooks of tasks and what is sent to them (A2A 1.0, 3.1.7 to 3.1.10 and 4.3): kept in the store for all its replicas, and told
 * by the one that works on the task. Lives through reloads.
 */
export class PushNotificationSender implements OutboxLimits {
  /** Who sees changes of tasks, one per config at work: the last one tells of them, so that a reload tells nothing twice. */
  readonly watchers = new Set<unknown>();
  /** How notifications ended, since the start. */
  readonly ends = { delivered: 0, failed: 0, dropped: 0 };
  waiting = 0;
  size = 0;
  readonly records: WebhookRecords;
  /** Told of from here, by their keys. */
  readonly #tasks = new Map<string, NotifiedTask>();
  /** With all that still deliver. */
  readonly #open = new Set<NotifiedTask>();
  readonly #without = new Recent<boolean>(MAX_WITHOUT);
  readonly #resolve: Resolve | undefined;
  readonly #host: NotifiedTaskHost;
  #dependencies: Dependencies | undefined;

  /**
   * @param store where webhooks are kept
   * @param resolve finds the addresses of names; default: that of the system
   */
  constructor(store: Store, resolve?: Resolve) {
    this.#resolve = resolve;
    this.records = new WebhookRecords(store);
    this.#host = {
      records: this.records,
      openOutbox: (hook, ended) => this.#openOutbox(hook, ended),
      release: (task) => this.#release(task),
    };
  }

  get most(): number {
    return this.#given.options.maxPending;
  }

  get retries(): number {
    return this.#given.options.retries;
  }

  /**
   * Sets the options that are in force.
   * @throws {GatewayError} `invalid` for a wrong entry of `allow`
   */
  use(options: PushOptions, log: PluginContext["log"]): void {
    const webhooks = new Webhooks(options, this.#resolve);
    const before = this.#dependencies;
    this.#dependencies = { options, webhooks, log };
    void before?.webhooks.close();
  }

  /**
   * Checks a webhook before its task is there.
   * @throws {GatewayError} `invalid` for a URL, id, token or credentials that cannot be
   */
  check({ id, url, token, authentication }: TaskPushNotificationConfig): void {
    this.#given.webhooks.check(url);
    if (id.length > 256 || !VISIBLE.test(token))
      throw new GatewayError("invalid", "The id or token of the webhook cannot be sent.");
    if (!authentication) return;
    const { scheme, credentials } = authentication;
    if (!SCHEME.test(scheme) || !VISIBLE.test(credentials))
      throw new GatewayError("invalid", "The authentication of the webhook cannot be sent.", {
        hint: 'Give a scheme such as "Bearer", and credentials of visible characters.',
      });
  }

  /**
   * Checks that a task has room for a webhook that a message names, or has it already.
   * @throws {GatewayError} `rate_limited`; `unavailable`
   */
  async checkRoom(given: TaskPushNotificationConfig, task: WebhookTask): Promise<void> {
    const { hooks = [] } = (await this.records.read(task)) ?? {};
    if (!hooks.some(isSameAs(given, true))) checkCount(hooks);
  }

  /**
   * Adds a webhook to a task, or replaces the one with its id; what waits for one that is the same goes on waiting.
   *
   * @param options.told the status of the task that it need not be told; default: none
   * @param options.byUrl whether one without an id is the one with its URL, if the task has that
   * @returns the webhook with its id, which is made up when it has none
   * @throws {GatewayError} `invalid` for a URL or credentials that cannot be; `rate_limited` for too many; `unavailable`
   */
  async add(
    given: TaskPushNotificationConfig,
    task: WebhookTask,
    { told, byUrl = false }: { readonly told?: string | undefined; readonly byUrl?: boolean } = {},
  ): Promise<AddedWebhook> {
    this.check(given);
    const made = randomUUID();
    let added!: AddedWebhook;
    await this.records.change(task, (before) => {
      const hooks = before?.hooks ?? [];
      const known = hooks.find(isSameAs(given, byUrl));
      if (!known) checkCount(hooks);
      const id = known?.config.id ?? (given.id === "" ? made : given.id);
      // Without members that JSON does not keep.
      const config = JSON.parse(
        JSON.stringify({ ...given, taskId: task.taskId, id }),
      ) as HookRecord["config"];
      const hook = { config, ...(told !== undefined && { told }) };
      added = { config: configOf(hook), isNew: !known };
      if (isDeepStrictEqual(known?.config, config)) return before;
      return {
        replica: "",
        createdAt: Date.now(),
        ...before,
        owner: task.owner.ref,
        taskId: task.taskId,
        hooks: known ? hooks.map((each) => (each === known ? hook : each)) : [...hooks, hook],
      };
    });
    await this.#look(webhookKey(task));
    return added;
  }

  /** The webhooks of a task, in the order in which they were added. @throws {GatewayError} `unavailable` */
  async of(task: WebhookTask): Promise<readonly TaskPushNotificationConfig[]> {
    const record = await this.records.read(task);
    return record?.hooks.map(configOf) ?? [];
  }

  /** Removes a webhook and what waits for it; does nothing when there is none. @throws {GatewayError} `unavailable` */
  async remove(id: string, task: WebhookTask): Promise<void> {
    await this.records.change(task, (before) => {
      if (!before?.hooks.some(({ config }) => config.id === id)) return before;
      return { ...before, hooks: before.hooks.filter(({ config }) => config.id !== id) };
    });
    await this.#look(webhookKey(task));
  }

  /** Tells the webhooks of a task of something that happened to it at this replica. */
  hear(owner: WebhookTask["owner"], event: StreamEvent, latest: Task): void {
    const task = { taskId: latest.id, owner };
    const key = webhookKey(task);
    const known = this.#tasks.get(key);
    if (known) return known.hear(event, latest);
    if (this.#without.get(key) && !isSettled(latest.status.state)) return;
    const notified = new NotifiedTask(task, latest, this.#host);
    this.#tasks.set(key, notified);
    this.#open.add(notified);
    notified.hear(event, latest);
  }

  /** Hears what other replicas change, from whenever the store lets it. @returns ends that */
  hearChanges(): () => void {
    const hearing = this.records.watch((key) => this.#notice(key));
    const end = hearing.then(
      (stop) => {
        this.#notice(undefined);
        return stop;
      },
      // The gateway ended before.
      () => () => {},
    );
    return () => void end.then((stop) => stop());
  }

  /** Somebody changed the webhooks of a task; `undefined`: of any. */
  #notice(key: string | undefined): void {
    if (key !== undefined) return void this.#look(key);
    this.#without.clear();
    for (const task of this.#tasks.values()) void task.look();
  }

  /** Forgets the webhooks of a task that is kept no longer. */
  forget(task: WebhookTask): void {
    // What a replica that ends leaves is found by another.
    this.records.delete(task).catch(() => {});
  }

  report(outcome: keyof PushNotificationSender["ends"], reason?: string): void {
    this.ends[outcome]++;
    // Neither URL nor host: both are the client's, and a URL may hold a secret.
    if (outcome === "failed")
      this.#given.log.warn({ reason }, "a push notification was not delivered");
  }

  /** Gives what waits one delivery's time, then gives up. */
  async close(): Promise<void> {
    if (!this.#dependencies) return;
    const { options, webhooks } = this.#dependencies;
    const open = [...this.#open];
    await within(Promise.all(open.map((task) => task.idle())), options.timeout);
    for (const task of open) task.close();
    await webhooks.close();
    this.records.close();
  }

  get #given(): Dependencies {
    return this.#dependencies!;
  }

  async #look(key: string): Promise<void> {
    if (this.#without.get(key)) this.#without.set(key, false);
    await this.#tasks.get(key)?.look();
  }

  /** Until its last notification was delivered the next one waits behind it. */
  #release(notified: NotifiedTask): void {
    const key = webhookKey(notified.task);
    if (notified.isLeft || !notified.hasHooks) this.#drop(key, notified);
    if (!notified.isLeft && !notified.hasHooks && !notified.isSettled) this.#without.set(key, true);
    void notified.idle().then(() => {
      if (notified.isSettled) this.#drop(key, notified);
      if (this.#tasks.get(key) !== notified) this.#open.delete(notified);
    });
  }

  #drop(key: string, notified: NotifiedTask): void {
    if (this.#tasks.get(key) === notified) this.#tasks.delete(key);
  }

  #openOutbox(hook: HookRecord, ended: (notification: PushNotification) => void): Outbox {
    const { url, token, authentication } = configOf(hook);
    const headers = {
      "content-type": CONTENT_TYPE,
      ...(token !== "" && { [TOKEN_HEADER]: token }),
      ...(authentication && {
        authorization: `${authentication.scheme} ${authentication.credentials}`.trimEnd(),
      }),
    };
    return new Outbox(
      () => this,
      ({ body, id }, signal) => {
        const own = { ...headers, [ID_HEADER]: id };
        return this.#given.webhooks.post({ url, headers: own, body, signal });
      },
      ended,
    );
  }
}

/** Clients name their webhook with every message, mostly without an id: by its URL it is the one that the task has. */
function isSameAs(
  { id, url }: TaskPushNotificationConfig,
  byUrl: boolean,
): (hook: HookRecord) => boolean {
  return ({ config }) => (id === "" ? byUrl && config.url === url : config.id === id);
}

/** @throws {GatewayError} `rate_limited` */
function checkCount(hooks: WebhookRecord["hooks"]): void {
  if (hooks.length < MOST_PER_TASK) return;
  throw new GatewayError("rate_limited", `A task has ${MOST_PER_TASK} webhooks at most.`, {
    hint: "Delete one of them first.",
  });
}
