import { setMaxListeners } from "node:events";
import type { TaskPushNotificationConfig } from "@a2a-js/sdk";
import { isGatewayError } from "propylon";
import { backoffDelay, pause } from "propylon/kit";
import { type Kv, type Store, storeKey } from "propylon/store";
import { z } from "zod";
import type { TaskOwner } from "../../service.ts";

/** How long what must be written waits between attempts while the store is away; milliseconds. */
const RETRY_MS = { initial: 500, max: 5_000 };

/** The webhooks of a task as the store keeps them. */
const recordSchema = z.object({
  owner: z.string(),
  taskId: z.string(),
  hooks: z
    .array(
      z.object({
        config: z.looseObject({ id: z.string(), url: z.string(), token: z.string() }),
        /** The status of the task that it was told last, or that was there when it was added. */
        told: z.string().optional(),
      }),
    )
    .max(1_000),
  /** The replica that tells them; empty before there is one. */
  replica: z.string().default(""),
  /** Milliseconds since the epoch. */
  createdAt: z.number().default(0),
});

/** {@link recordSchema} as a type. */
export type WebhookRecord = Readonly<z.output<typeof recordSchema>>;

/** One of its webhooks. */
export type HookRecord = WebhookRecord["hooks"][number];

/** A task that has webhooks. */
export interface WebhookTask {
  readonly taskId: string;
  readonly owner: TaskOwner;
}

/** What a change makes of a record: the same one, nothing, or another. */
type Edit = (before: WebhookRecord | undefined) => WebhookRecord | undefined;

/** The webhooks of tasks in the gateway's store, where any replica reads and changes them. */
export class WebhookRecords {
  readonly replica: string;
  /** Whether other replicas have them, too. */
  readonly isShared: boolean;
  readonly #kv: Kv<WebhookRecord>;
  readonly #end = new AbortController();

  constructor(store: Store) {
    this.replica = store.replica;
    this.isShared = store.shared;
    this.#kv = store.kv("webhooks", { schema: recordSchema });
    // As many as there are writes that wait.
    setMaxListeners(0, this.#end.signal);
  }

  /** @throws {GatewayError} `unavailable` */
  async read(task: WebhookTask): Promise<WebhookRecord | undefined> {
    return (await this.#kv.get(webhookKey(task)))?.value;
  }

  /** All that are there, read a page at a time. */
  async *all(): AsyncIterable<WebhookRecord> {
    for await (const { value } of this.#kv.list()) yield value;
  }

  /**
   * Changes what is there, no matter who else changes it at the same time.
   * @returns what is there then
   * @throws {GatewayError} `unavailable`; `exists` where a later version wrote them; what `edit` throws
   */
  async change(task: WebhookTask, edit: Edit): Promise<WebhookRecord | undefined> {
    return this.#kv.change(webhookKey(task), (before) => {
      const after = edit(before);
      return after && after.hooks.length > 0 ? after : undefined;
    });
  }

  /** The same, tried until the store answers. @throws {GatewayError} `unavailable` at the end of the gateway */
  async persist(task: WebhookTask, edit: Edit): Promise<WebhookRecord | undefined> {
    for (let failures = 1; ; failures++) {
      try {
        return await this.change(task, edit);
      } catch (error) {
        const isAway = isGatewayError(error) && error.code === "unavailable";
        if (!isAway || this.#end.signal.aborted) throw error;
        await pause(backoffDelay(failures, RETRY_MS), this.#end.signal);
      }
    }
  }

  /** Makes this replica the one that tells a task's webhooks. */
  claim(task: WebhookTask): Promise<WebhookRecord | undefined> {
    const { replica } = this;
    return this.persist(task, (before) =>
      before && before.replica !== replica ? { ...before, replica } : before,
    );
  }

  /** Forgets the webhooks of a task that is gone. */
  async delete(task: WebhookTask): Promise<void> {
    await this.persist(task, () => undefined);
  }

  /** Tells of every change by other replicas, by the key of the task; `undefined`: of any. @returns ends that */
  async watch(listener: (key: string | undefined) => void): Promise<() => void> {
    if (!this.isShared) return () => {};
    const end = await this.#kv.watchKeys(listener);
    return () => void end();
  }

  /** Gives up what still waits for the store. */
  close(): void {
    this.#end.abort();
  }
}

/** Key of the webhooks of a task. */
export function webhookKey({ taskId, owner }: WebhookTask): string {
  return storeKey(owner.ref, taskId);
}

/** A webhook as clients wrote it. */
export function configOf({ config }: HookRecord): TaskPushNotificationConfig {
  return config as unknown as TaskPushNotificationConfig;
}
