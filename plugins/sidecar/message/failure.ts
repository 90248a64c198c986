/** Why a task could not be run, and what follows. */
export type Reason =
  /** What was handed in is not a task: it never will be. */
  | "invalid_json"
  | "invalid_request"
  | "refused"
  /** The runtime answered, and the answer is of no use: to run the task again would do its work twice. */
  | "invalid_answer"
  | "result_too_large"
  /** Worth another try. */
  | "unavailable"
  | "runtime_error"
  | "unreachable"
  | "timeout"
  | "busy"
  /** The runtime has no room yet: the delivery waits for it. */
  | "rate_limited"
  /** Delivered too often already; the sidecar that had it last was lost with it. */
  | "lost";

const WORTH_RETRYING: ReadonlySet<Reason> = new Set([
  "unavailable",
  "runtime_error",
  "unreachable",
  "timeout",
]);

/** A task that could not be run. */
export class Failure extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }

  /** Whether another delivery may go better. */
  get isPassing(): boolean {
    return WORTH_RETRYING.has(this.reason);
  }

  /** Whether the runtime must be found healthy before it gets another task. */
  get isAbsence(): boolean {
    return this.reason === "unavailable" || this.reason === "unreachable";
  }
}
