import { messageSchema, taskSchema } from "propylon/contract";
import { boundedRecord } from "propylon/kit";
import { keptPrincipalSchema } from "propylon/internal";
import { STATES } from "propylon/contract";
import { z } from "zod";

/** How a task waits for a replica that works on its last message. */
const queuedSchema = z.object({
  /** Key of its piece of work; one with another key is outdated. */
  ticket: z.string(),
  /** How often the work was begun. */
  runs: z.int().min(0),
  /** Messages that it had taken when it began to wait: answers in the middle of the work come on top. */
  taken: z.int().min(1),
  /** Who sent the last one. */
  sender: keptPrincipalSchema,
  /** `_meta` for the call. */
  meta: boundedRecord(z.string(), z.unknown(), 10_000).exactOptional(),
});

/** {@link queuedSchema} as a type. */
export type Queued = Readonly<z.output<typeof queuedSchema>>;

/** A task as the store keeps it: what is needed to show it, to go on with it, and to tell whose it is. */
export const taskRecordSchema = z.object({
  /** `ref` of its owner. */
  owner: z.string(),
  skill: z.string(),
  task: taskSchema,
  /** Places in the history of the messages that it took. */
  taken: z.array(z.int().min(0)).max(100_000),
  reply: messageSchema.optional(),
  /** Whether a call under way asked: nobody can answer that once the call is gone. */
  isAsking: z.boolean(),
  /** Whether its replica ended while it was under way. */
  isAbandoned: z.boolean(),
  /** Milliseconds since the epoch of its last change of state. */
  changedAt: z.number(),
  /** The same of its beginning. */
  createdAt: z.number().optional(),
  /** The one that goes on with it; empty while it waits for one. */
  replica: z.string(),
  /** Set while the work on its last message is handed out by the queue. */
  queued: queuedSchema.exactOptional(),
});

export type TaskRecord = Readonly<z.output<typeof taskRecordSchema>>;

/** Whether a replica is to work on a task, or does. */
export function isUnderWay({ task, isAsking }: TaskRecord): boolean {
  const { isFinal, isInterrupted } = STATES[task.status.state];
  return !isFinal && (!isInterrupted || isAsking);
}

/** Whether it has taken a message of an id. */
export function knowsIdOf({ task, taken }: TaskRecord, messageId: string | undefined): boolean {
  if (messageId === undefined) return false;
  return taken.some((place) => task.history?.[place]?.messageId === messageId);
}

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
