import { randomUUID } from "node:crypto";
import {
  STATES,
  type Message,
  type StreamEvent,
  type Task,
  type TaskState,
  type TaskStatus,
} from "propylon/contract";

/** What a client of the contract reads about an end that says nothing of itself. */
const WORDS: Partial<Record<TaskState, string>> = {
  canceled: "canceled",
  rejected: "rejected by the agent",
};

/** A task in the words of contract v1: its synchronous answers know three states, and a failed one says why. */
export function toContractTask(task: Task): Task {
  return { ...task, status: toStatus(task.status) };
}

/** An event of a stream in the words of contract v1. */
export function toEvent(event: StreamEvent): StreamEvent {
  if ("task" in event) return { task: toContractTask(event.task) };
  if (!("statusUpdate" in event)) return event;
  const { statusUpdate: update } = event;
  return { statusUpdate: { ...update, status: toStatus(update.status) } };
}

/** A task that never came to be, because nothing can be done with its message. */
export function failedContractTask(
  { id, message }: { id: string; message: Message },
  why: string,
): Task {
  const { contextId } = message;
  return {
    id,
    ...(contextId !== undefined && { contextId }),
    status: {
      state: "failed",
      message: fromAgent(why),
      timestamp: new Date().toISOString(),
    },
  };
}

function toStatus(status: TaskStatus): TaskStatus {
  const state = STATES[status.state].answer ?? status.state;
  if (state !== "failed" || status.message) return { ...status, state };
  return { ...status, state, message: fromAgent(WORDS[status.state] ?? "failed") };
}

function fromAgent(text: string): Message {
  return { messageId: randomUUID(), role: "agent", parts: [{ text }] };
}
