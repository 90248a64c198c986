import { TASK_STATES, type TaskState } from "propylon/contract";

/**
 * Which state may follow which. Final ones are followed by nothing; a state may follow itself only while work goes on, with another
 * message. Work that was interrupted goes on as `working`.
 */
const FOLLOWERS: Readonly<Record<TaskState, readonly TaskState[]>> = {
  submitted: ["working", "failed", "canceled", "rejected"],
  working: TASK_STATES.filter((state) => state !== "submitted"),
  "input-required": ["working", "failed", "canceled"],
  "auth-required": ["working", "failed", "canceled"],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
};

/** Whether a task may go from one state to another. */
export function mayFollow(from: TaskState, to: TaskState): boolean {
  return FOLLOWERS[from].includes(to);
}
