/** What a state of a job is called by other faces of the gateway, and what it means. */
interface JobStateFacts {
  /** Nothing follows it. */
  readonly isFinal: boolean;
  /** The state of a task of A2A, in the words of contract v1. */
  readonly a2a: "working" | "input-required" | "completed" | "failed" | "canceled";
  /** The status of a job over plain HTTP. */
  readonly http: string;
}

/** The one table of states of jobs. Their names are those of MCP tasks. */
export const JOB_STATES = {
  working: { isFinal: false, a2a: "working", http: "running" },
  input_required: { isFinal: false, a2a: "input-required", http: "input_required" },
  completed: { isFinal: true, a2a: "completed", http: "done" },
  failed: { isFinal: true, a2a: "failed", http: "failed" },
  cancelled: { isFinal: true, a2a: "canceled", http: "cancelled" },
} as const satisfies Record<string, JobStateFacts>;

/** Where a job is in its life. */
export type JobState = keyof typeof JOB_STATES;

/** The states that nothing follows. */
export type FinalJobState = {
  [S in JobState]: (typeof JOB_STATES)[S]["isFinal"] extends true ? S : never;
}[JobState];
