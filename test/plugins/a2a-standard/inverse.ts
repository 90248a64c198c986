import { type StreamEvent, type Task, type TaskStatus, stateFromStandard } from "propylon/contract";
import type { Json } from "../../../core/index.ts";
import { messageFromStandard } from "../../../plugins/a2a/contract/standard.ts";

/** A task of A2A 1.0 in the words of the contract; a state that is not known counts as `failed`. */
export function taskFromStandard({ history, status, ...task }: Json): Task {
  return {
    ...task,
    status: statusFromStandard((status ?? {}) as Json),
    ...(Array.isArray(history) && { history: (history as Json[]).map(messageFromStandard) }),
  } as unknown as Task;
}

/** An event of an A2A 1.0 stream in the words of the contract. */
export function eventFromStandard(event: Json): StreamEvent {
  const { task, statusUpdate } = event as Record<string, Json | undefined>;
  if (task) return { task: taskFromStandard(task) };
  if (!statusUpdate) return event as unknown as StreamEvent;
  const { status, ...update } = statusUpdate;
  return {
    statusUpdate: { ...update, status: statusFromStandard((status ?? {}) as Json) },
  } as unknown as StreamEvent;
}

function statusFromStandard({ state, message, ...status }: Json): TaskStatus {
  return {
    ...status,
    state: stateFromStandard(state) ?? "failed",
    ...(message !== undefined && { message: messageFromStandard(message as Json) }),
  };
}
