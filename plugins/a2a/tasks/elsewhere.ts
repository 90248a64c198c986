import { GatewayError, isGatewayError } from "propylon";
import { type Store, timeoutSignal } from "propylon/kit";
import { type Task, taskSchema } from "propylon/contract";
import { z } from "zod";
import type { TaskOwner } from "../service.ts";
import type { TaskRecord } from "./task-record.ts";

/** How long another gateway may take to tell of a task, in milliseconds. */
const LOOK_MS = 2_000;
/** How long it may take to end one: it waits until nothing of it goes on. */
const CANCEL_MS = 30_000;
const TOPIC = "task";

const questionSchema = z.object({
  id: z.string(),
  /** `ref` of its owner, who is compared where it runs, too. */
  owner: z.string(),
  verb: z.enum(["look", "cancel"]),
});

/** What this gateway does about tasks for others. */
export interface TaskHost {
  get(id: string, owner: TaskOwner): { readonly task: Task };
  cancel(id: string, owner: TaskOwner): Promise<Task>;
}

/** Tasks at work at other gateways of the store. */
export class TasksElsewhere {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Answers what others ask about tasks at work here. @returns ends that */
  async serve(host: TaskHost): Promise<() => void> {
    if (!this.#store.shared) return () => {};
    const end = await this.#store.answer(TOPIC, async function* (body: unknown) {
      const { id, owner, verb } = questionSchema.parse(body);
      const ref = { ref: owner };
      yield verb === "cancel" ? await host.cancel(id, ref) : host.get(id, ref).task;
    });
    return () => void end();
  }

  /** A task as it is now. One whose gateway cannot be asked, or has just ended it, is told as it was stored. */
  async look(record: TaskRecord): Promise<Task> {
    return this.#ask(record, "look", LOOK_MS).catch(() => record.task);
  }

  /** @throws {GatewayError} `exists` when it has ended meanwhile; `unavailable` when its gateway does not answer */
  cancel(record: TaskRecord): Promise<Task> {
    return this.#ask(record, "cancel", CANCEL_MS);
  }

  async #ask(
    { owner, task, replica }: TaskRecord,
    verb: "look" | "cancel",
    limit: number,
  ): Promise<Task> {
    const question = { id: task.id, owner, verb };
    const signal = timeoutSignal(limit);
    try {
      for await (const answer of this.#store.ask(replica, TOPIC, question, signal))
        return taskSchema.parse(answer);
    } catch (error) {
      if (isGatewayError(error)) throw error;
    }
    throw new GatewayError("unavailable", "The gateway that works on the task did not answer.", {
      hint: "Make the request again.",
    });
  }
}
