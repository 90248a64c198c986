import type { Progress } from "propylon";

/** How a call ended, ready to be sent. */
export interface Completion {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** How a job stands. */
export interface JobState {
  readonly status: "running" | "done" | "failed" | "cancelled";
  readonly endedAt: string | undefined;
  readonly completion: Completion | undefined;
}

/** One call that is answered later. */
export interface Job {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly createdAt: string;
  readonly owner: string;
  readonly abort: AbortController;
  status: JobState["status"];
  progress: Progress | undefined;
  endedAt: string | undefined;
  completion: Completion | undefined;
  expiry: NodeJS.Timeout | undefined;
  /** The end that is being written down and does not count yet. */
  next: JobState | undefined;
  writing: Promise<void> | undefined;
}
