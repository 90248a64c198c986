/**
 * Where a task is in its life, in the words of contract v1 (which are those of A2A 0.3). Synchronous answers of contract v1 end in
 * `completed`, `failed` or `input-required` only.
 */
export const TASK_STATES = [
  "submitted",
  "working",
  "input-required",
  "auth-required",
  "completed",
  "failed",
  "canceled",
  "rejected",
] as const;

/** One of {@link TASK_STATES}. */
export type TaskState = (typeof TASK_STATES)[number];

/** What a state is called in other words, and what it means for the task. */
export interface StateFacts {
  /** Nothing follows it. */
  readonly isFinal: boolean;
  /** The agent waits for somebody. */
  readonly isInterrupted: boolean;
  /** A2A 1.0. */
  readonly standard: `TASK_STATE_${string}`;
  /** What synchronous answers of contract v1 say. */
  readonly answer: "completed" | "failed" | "input-required" | undefined;
  /** State of an MCP task. */
  readonly mcp: "working" | "input_required" | "completed" | "failed" | "cancelled";
}

const LIVE = { isFinal: false, isInterrupted: false, answer: undefined } as const;
const WAITING = { isFinal: false, isInterrupted: true } as const;
const FINAL = { isFinal: true, isInterrupted: false } as const;

/** The one table of task states: contract v1, A2A 1.0 and MCP tasks. */
export const STATES: Readonly<Record<TaskState, StateFacts>> = {
  submitted: { ...LIVE, standard: "TASK_STATE_SUBMITTED", mcp: "working" },
  working: { ...LIVE, standard: "TASK_STATE_WORKING", mcp: "working" },
  "input-required": {
    ...WAITING,
    standard: "TASK_STATE_INPUT_REQUIRED",
    answer: "input-required",
    mcp: "input_required",
  },
  // The contract has no such state, and the client can do nothing but say more.
  "auth-required": {
    ...WAITING,
    standard: "TASK_STATE_AUTH_REQUIRED",
    answer: "input-required",
    mcp: "input_required",
  },
  completed: {
    ...FINAL,
    standard: "TASK_STATE_COMPLETED",
    answer: "completed",
    mcp: "completed",
  },
  failed: {
    ...FINAL,
    standard: "TASK_STATE_FAILED",
    answer: "failed",
    mcp: "failed",
  },
  canceled: {
    ...FINAL,
    standard: "TASK_STATE_CANCELED",
    answer: "failed",
    mcp: "cancelled",
  },
  rejected: {
    ...FINAL,
    standard: "TASK_STATE_REJECTED",
    answer: "failed",
    mcp: "failed",
  },
};

/** Whether nobody works on a task in that state: it ended, or waits for somebody. */
export function isSettled(state: TaskState): boolean {
  return STATES[state].isFinal || STATES[state].isInterrupted;
}
