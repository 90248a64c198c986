import { messageSchema, taskSchema } from "propylon/contract";
import { z } from "zod";

/** A task as the store keeps it: what is needed to show it, to go on with it, and to tell whose it is. */
export const taskRecordSchema = z.object({
  /** `ref` of its owner. */
  owner: z.string(),
  skill: z.string(),
  task: taskSchema,
  /** Places in the history of the messages that it took. */
  taken: z.array(z.int().min(0)),
  reply: messageSchema.optional(),
  /** Whether a call under way asked: nobody can answer that once the call is gone. */
  isAsking: z.boolean(),
  /** Whether its gateway ended while it was under way. */
  isAbandoned: z.boolean(),
  /** Milliseconds since the epoch of its last change of state. */
  changedAt: z.number(),
  /** The same of its beginning. */
  createdAt: z.number().optional(),
  /** The gateway that goes on with it. */
  replica: z.string(),
});

export type TaskRecord = Readonly<z.output<typeof taskRecordSchema>>;

/**
 * An abandoned task as it was before it took its last message, for a queue that delivers that one again; `undefined` when that was
 * the first. An answer is worked on with its question and all that was said before, or not at all.
 */
export function rewind(record: TaskRecord): TaskRecord | undefined {
  const { task, taken } = record;
  const { history = [], status } = task;
  const question = history[taken.at(-1)! - 1];
  if (taken.length < 2 || question?.role !== "agent") return undefined;
  return {
    ...record,
    task: {
      ...task,
      status: { ...status, state: "input-required", message: question },
      history: history.slice(0, taken.at(-1)! - 1),
    },
    taken: taken.slice(0, -1),
    isAbandoned: false,
  };
}
