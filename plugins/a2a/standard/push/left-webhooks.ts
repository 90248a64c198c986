import { isGatewayError } from "propylon";
import type { LostReplicas } from "propylon/plugins/tasks";
import { STATES, type Task, type TaskState } from "propylon/contract";
import { isSettled } from "../../contract/states.ts";
import type { RuntimeService } from "../../service.ts";
import { statusKeyOf } from "./notification.ts";
import type { PushNotificationSender } from "./sender.ts";
import type { HookRecord, WebhookRecord } from "./webhook-records.ts";

/** How long webhooks of a task that is not there are left alone, in milliseconds: it may be on its way into the store. */
const ARRIVAL_MS = 600_000;

/** What it works with. */
interface Dependencies {
  readonly sender: PushNotificationSender;
  readonly runtime: Pick<RuntimeService, "look">;
  readonly replicas: LostReplicas;
}

/** Webhooks of replicas that died before they had told how a task ended, or what it asks. */
export class LeftWebhooks {
  readonly #dependencies: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Tells what others left untold, if there is any. While the store is away nothing is done; the next time goes on. */
  async sweep(): Promise<void> {
    const { sender, replicas } = this.#dependencies;
    const tellAll = async (there: ReadonlySet<string>): Promise<void> => {
      for await (const record of sender.records.all())
        if (!there.has(record.replica) && !record.hooks.every(knowsEnd)) await this.#tell(record);
    };
    await replicas.look(tellAll).catch(() => {});
  }

  /** What is under way is told by the replica that goes on with it. */
  async #tell(record: WebhookRecord): Promise<void> {
    const { sender } = this.#dependencies;
    const owner = { ref: record.owner };
    const task = await this.#find(record);
    if (!task) {
      const isLate = record.replica !== "" || Date.now() - record.createdAt > ARRIVAL_MS;
      if (isLate) sender.forget({ taskId: record.taskId, owner });
      return;
    }
    const status = statusKeyOf({ task });
    if (!isSettled(task.status.state) || record.hooks.every(({ told }) => told === status)) return;
    sender.hear(owner, { task }, task);
  }

  async #find({ taskId, owner }: WebhookRecord): Promise<Task | undefined> {
    try {
      return await this.#dependencies.runtime.look(taskId, { ref: owner });
    } catch (error) {
      if (isGatewayError(error) && error.code === "not_found") return undefined;
      throw error;
    }
  }
}

/** Whether a webhook was told how its task ended. */
function knowsEnd({ told = "" }: HookRecord): boolean {
  const [state = ""] = told.split(" ");
  return STATES[state as TaskState]?.isFinal ?? false;
}
