import type { Json } from "propylon";
import type { Message } from "./message.ts";
import { STATES, TASK_STATES, type TaskState } from "./states.ts";
import type { StreamEvent, Task, TaskStatus } from "./task.ts";

// Contract v1 and the JSON of A2A 1.0 share every shape; they differ in the names of states and roles.

const ROLE_NAMES = { user: "ROLE_USER", agent: "ROLE_AGENT" } as const;
const STATE_OF = new Map<unknown, TaskState>(
  TASK_STATES.map((state) => [STATES[state].standard, state]),
);

/** A message as A2A 1.0 writes it. */
export function messageToStandard(message: Message): Json {
  return { ...message, role: ROLE_NAMES[message.role] };
}

/** A message of A2A 1.0 in the words of the contract. A role that is not the agent's is the user's. */
export function messageFromStandard(message: Json): Message {
  return { ...message, role: message["role"] === "ROLE_AGENT" ? "agent" : "user" } as Message;
}

/** A task as A2A 1.0 writes it. */
export function taskToStandard(task: Task): Json {
  const shown: Json = { ...task, status: statusToStandard(task.status) };
  if (task.history) shown["history"] = task.history.map(messageToStandard);
  return shown;
}

/** An event of a stream as A2A 1.0 writes it. */
export function eventToStandard(event: StreamEvent): Json {
  if ("task" in event) return { task: taskToStandard(event.task) };
  if (!("statusUpdate" in event)) return { ...event };
  const { status, ...update } = event.statusUpdate;
  return { statusUpdate: { ...update, status: statusToStandard(status) } };
}

/** The state of the contract for a state of A2A 1.0; `undefined` for one that there is not. */
export function stateFromStandard(state: unknown): TaskState | undefined {
  return STATE_OF.get(state);
}

function statusToStandard(status: TaskStatus): Json {
  const shown: Json = { ...status, state: STATES[status.state].standard };
  if (status.message) shown["message"] = messageToStandard(status.message);
  return shown;
}
