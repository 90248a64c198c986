import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { GatewayError, type PluginContext } from "propylon";
import { Records, type Resolve, type Store, storeKey, within } from "propylon/kit";
import { z } from "zod";
import type { TaskOwner } from "../../service.ts";
import type { PushOptions } from "./options.ts";
import { Outbox, type OutboxLimits, type PushNotification } from "./outbox.ts";
import { Webhooks } from "./webhook.ts";

/** Webhooks of one task. */
const MOST_PER_TASK = 16;
/** Tasks with webhooks above which those of forgotten tasks are looked for. */
const SWEEP_ABOVE = 1_000;
/** Header of the token (A2A 1.0, 4.3.3), where there are no credentials for `Authorization`. */
const TOKEN_HEADER = "x-a2a-notification-token";
/** Header of the id of a notification (Standard Webhooks 1.0): every attempt has the same, so that receivers can tell. */
const ID_HEADER = "webhook-id";
const CONTENT_TYPE = "application/a2a+json";
const SCHEME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const VISIBLE = /^[\x20-\x7e]{0,8192}$/;

/** One webhook of a task. */
interface Hook {
  readonly config: TaskPushNotificationConfig;
  readonly outbox: Outbox;
  /** The status of the task that it was told last. */
  told?: string | undefined;
}

/** The webhooks of a task as the store keeps them. */
const recordSchema = z.object({
  owner: z.string(),
  taskId: z.string(),
  hooks: z.array(
    z.object({
      config: z.looseObject({ id: z.string(), url: z.string(), token: z.string() }),
      told: z.string().optional(),
    }),
  ),
});
type WebhookRecord = z.output<typeof recordSchema>;

interface Owned {
  readonly taskId: string;
  readonly owner: TaskOwner;
  readonly hooks: Map<string, Hook>;
}

/** What a reload may change. */
interface Dependencies {
  readonly options: PushOptions;
  readonly webhooks: Webhooks;
  readonly log: PluginContext["log"];
}

/** The webhooks of tasks and what is sent to them (A2A 1.0, 3.1.7 to 3.1.10 and 4.3). Lives through reloads. */
export class PushNotificationSender implements OutboxLimits {
  /** Who sees changes of tasks, one per config at work: the last one tells of them, so that a reload tells nothing twice. */
  readonly watchers = new Set<unknown>();
  /** How notifications ended, since the start. */
  readonly ends = { delivered: 0, failed: 0, dropped: 0 };
  waiting = 0;
  size = 0;
  readonly #tasks = new Map<string, Owned>();
  readonly #resolve: Resolve | undefined;
  readonly #end = new AbortController();
  readonly #records: Records<WebhookRecord>;
  #isLoaded = false;
  #dependencies: Dependencies | undefined;

  /**
   * @param store where webhooks outlive the process, if they do
   * @param resolve finds the addresses of names; default: that of the system
   */
  constructor(store: Store, resolve?: Resolve) {
    this.#resolve = resolve;
    this.#records = new Records(store, "webhooks", {
      schema: recordSchema,
      signal: this.#end.signal,
    });
  }

  /** Takes over the webhooks of a process before this one. */
  async load(): Promise<void> {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    for await (const { key, value } of this.#records.load()) {
      const { taskId, hooks } = value;
      const owned = {
        taskId,
        owner: { ref: value.owner },
        hooks: new Map<string, Hook>(),
      };
      for (const { config, told } of hooks) {
        const known = config as unknown as TaskPushNotificationConfig;
        owned.hooks.set(known.id, { config: known, outbox: this.#openOutbox(known, owned), told });
      }
      this.#tasks.set(key, owned);
    }
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
   * Checks that a task has room for a webhook, or has it already.
   * @throws {GatewayError} `rate_limited`
   */
  checkRoom({ id }: TaskPushNotificationConfig, taskId: string, owner: TaskOwner): void {
    const hooks = this.#tasks.get(keyOf(taskId, owner))?.hooks;
    if (!hooks || hooks.has(id) || hooks.size < MOST_PER_TASK) return;
    throw new GatewayError("rate_limited", `A task has ${MOST_PER_TASK} webhooks at most.`, {
      hint: "Delete one of them first.",
    });
  }

  /**
   * Adds a webhook to a task, or replaces the one with its id; what waits for one that is the same goes on waiting.
   * @returns the webhook with its id, which is made up when it has none
   * @throws {GatewayError} `invalid` for a URL or credentials that cannot be; `rate_limited` for too many; `unavailable`
   */
  async add(
    given: TaskPushNotificationConfig,
    taskId: string,
    owner: TaskOwner,
  ): Promise<TaskPushNotificationConfig> {
    this.check(given);
    this.checkRoom(given, taskId, owner);
    const owned = this.#tasks.get(keyOf(taskId, owner)) ?? { taskId, owner, hooks: new Map() };
    const config = { ...given, taskId, id: given.id === "" ? randomUUID() : given.id };
    const before = owned.hooks.get(config.id);
    if (isDeepStrictEqual(before?.config, config)) return config;
    before?.outbox.close();
    owned.hooks.set(config.id, { config, outbox: this.#openOutbox(config, owned) });
    this.#tasks.set(keyOf(taskId, owner), owned);
    try {
      await this.#save(owned);
    } catch (error) {
      this.remove(config.id, taskId, owner);
      throw error;
    }
    return config;
  }

  /** The webhooks of a task, in the order in which they were added. */
  of(taskId: string, owner: TaskOwner): readonly TaskPushNotificationConfig[] {
    const hooks = this.#tasks.get(keyOf(taskId, owner))?.hooks;
    return hooks ? [...hooks.values()].map(({ config }) => config) : [];
  }

  /** Removes a webhook and what waits for it; does nothing when there is none. */
  remove(id: string, taskId: string, owner: TaskOwner): void {
    const owned = this.#tasks.get(keyOf(taskId, owner));
    owned?.hooks.get(id)?.outbox.close();
    owned?.hooks.delete(id);
    if (!owned) return;
    if (owned.hooks.size > 0) void this.#save(owned, { persists: true });
    else this.#forget(keyOf(taskId, owner));
  }

  #forget(key: string): void {
    this.#tasks.delete(key);
    void this.#records.delete(key);
  }

  async #save(owned: Owned, options?: { readonly persists: boolean }): Promise<void> {
    const { taskId, owner, hooks } = owned;
    const render = (): WebhookRecord => ({
      owner: owner.ref,
      taskId,
      hooks: [...hooks.values()].map(({ config, told }) => ({
        config: { ...config },
        ...(told !== undefined && { told }),
      })),
    });
    const saving = this.#records.save(keyOf(taskId, owner), render, options);
    // Nobody waits for one that persists: it ends with the gateway.
    await (options?.persists ? saving.catch(() => {}) : saving);
  }

  /** Whether anybody wants to hear of a task. */
  wants(taskId: string, owner: TaskOwner): boolean {
    return this.#tasks.has(keyOf(taskId, owner));
  }

  /**
   * Tells the webhooks of a task.
   * @param only the one webhook to tell; default: all
   */
  tell(
    { taskId, owner, only }: { taskId: string; owner: TaskOwner; only?: string },
    notification: PushNotification,
  ): void {
    const hooks = this.#tasks.get(keyOf(taskId, owner))?.hooks ?? [];
    for (const [id, { outbox }] of hooks)
      if (only === undefined || id === only) outbox.put(withId(notification, taskId, id));
  }

  /** Tells a task as it is to those of its webhooks that a gateway of before has not told of this status. */
  catchUp(taskId: string, owner: TaskOwner, notification: PushNotification): void {
    for (const [id, { told }] of this.#tasks.get(keyOf(taskId, owner))?.hooks ?? [])
      if (told !== notification.status) this.tell({ taskId, owner, only: id }, notification);
  }

  /** Forgets the webhooks of tasks that are no more, once there are many. */
  sweep(isThere: (taskId: string, owner: TaskOwner) => boolean): void {
    if (this.#tasks.size <= SWEEP_ABOVE) return;
    for (const [key, { taskId, owner, hooks }] of this.#tasks) {
      if (isThere(taskId, owner)) continue;
      for (const { outbox } of hooks.values()) outbox.close();
      this.#forget(key);
    }
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
    const outboxes = [...this.#tasks.values()].flatMap(({ hooks }) =>
      [...hooks.values()].map(({ outbox }) => outbox),
    );
    const { options, webhooks } = this.#dependencies;
    await within(Promise.all(outboxes.map((outbox) => outbox.idle())), options.timeout);
    for (const outbox of outboxes) outbox.close();
    await webhooks.close();
    await within(this.#records.settled(), options.timeout);
    this.#end.abort();
  }

  get #given(): Dependencies {
    return this.#dependencies!;
  }

  #openOutbox(config: TaskPushNotificationConfig, owned: Owned): Outbox {
    const { id: hookId, url, token, authentication } = config;
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
      ({ status }) => {
        const hook = owned.hooks.get(hookId);
        if (!hook || status === undefined) return;
        hook.told = status;
        void this.#save(owned, { persists: true });
      },
    );
  }
}

/** A status that is told again after a restart has the id that it had before. */
function withId(notification: PushNotification, taskId: string, hookId: string): PushNotification {
  const { status } = notification;
  if (status === undefined) return notification;
  const digest = createHash("sha256").update(JSON.stringify([taskId, hookId, status]));
  return { ...notification, id: digest.digest("base64url") };
}

function keyOf(taskId: string, { ref }: TaskOwner): string {
  return storeKey(ref, taskId);
}
