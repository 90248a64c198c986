import { boundedRecord } from "propylon/kit";
import { z } from "zod";
import { MAX_PARTS, messageSchema, partSchema } from "./message.ts";
import { TASK_STATES, type TaskState } from "./states.ts";

const metadata = boundedRecord(z.string(), z.unknown(), MAX_PARTS);

/** What an agent made. */
export const artifactSchema = z.looseObject({
  artifactId: z.string().optional(),
  name: z.string().optional(),
  description: z.string().optional(),
  parts: z.array(partSchema).max(MAX_PARTS).min(1),
  metadata: metadata.optional(),
});

/** Where a task is. `message` says why; failed tasks must have one. */
export const taskStatusSchema = z.looseObject({
  state: z.enum(TASK_STATES),
  message: messageSchema.optional(),
  /** ISO 8601. */
  timestamp: z.string().optional(),
});

/** A task (task.schema.json). */
export const taskSchema = z.looseObject({
  id: z.string().min(1),
  contextId: z.string().optional(),
  status: taskStatusSchema,
  artifacts: z.array(artifactSchema).max(MAX_PARTS).optional(),
  history: z.array(messageSchema).max(MAX_PARTS).optional(),
  metadata: metadata.optional(),
});

/** A new state of a task. */
export const taskStatusUpdateSchema = z.looseObject({
  taskId: z.string(),
  contextId: z.string().optional(),
  status: taskStatusSchema,
  metadata: metadata.optional(),
});

/** Something new of an artifact. */
export const taskArtifactUpdateSchema = z.looseObject({
  taskId: z.string(),
  contextId: z.string().optional(),
  artifact: artifactSchema,
  /** Whether the parts go behind those sent before for this artifact. Default false: they replace it. */
  append: z.boolean().optional(),
  /** Whether this was the last piece of the artifact. */
  lastChunk: z.boolean().optional(),
});

/**
 * One event of a stream: exactly one member is set. The contract names the events and leaves the wire shape open; ours is that of
 * A2A 1.0 (first the task, then updates, ending with a final or interrupted state) with the states of the contract.
 */
export const streamEventSchema = z.union([
  z.looseObject({ task: taskSchema }),
  z.looseObject({ statusUpdate: taskStatusUpdateSchema }),
  z.looseObject({ artifactUpdate: taskArtifactUpdateSchema }),
]);

/** What an agent made. */
export type Artifact = Readonly<z.output<typeof artifactSchema>>;
/** Where a task is. */
export type TaskStatus = Readonly<z.output<typeof taskStatusSchema>>;
/** A task. */
export type Task = Readonly<z.output<typeof taskSchema>>;
/** A new state of a task. */
export type TaskStatusUpdate = Readonly<z.output<typeof taskStatusUpdateSchema>>;
/** Something new of an artifact. */
export type TaskArtifactUpdate = Readonly<z.output<typeof taskArtifactUpdateSchema>>;
/** One event of a stream. */
export type StreamEvent =
  | { readonly task: Task }
  | { readonly statusUpdate: TaskStatusUpdate }
  | { readonly artifactUpdate: TaskArtifactUpdate };

/** The state that an event tells of, if it does. */
export function stateOf(event: StreamEvent): TaskState | undefined {
  if ("task" in event) return event.task.status.state;
  return "statusUpdate" in event ? event.statusUpdate.status.state : undefined;
}
