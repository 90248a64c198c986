import type { Ending } from "./ending.ts";
import type { Failure } from "../message/failure.ts";

/** Deliveries that are kept. */
const MAX_KEPT = 100;
/** Characters of what went wrong. */
const MAX_MESSAGE = 500;

/** A delivery that failed. */
export interface FailedDelivery {
  /** ISO 8601. */
  readonly at: string;
  readonly task: string;
  /** `ref` of the principal that handed it in; `null`: it came over NATS, and nobody said. */
  readonly owner: string | null;
  /** `retried`: it comes again; `dead`: it was given up. */
  readonly outcome: Ending["outcome"];
  readonly reason: Failure["reason"];
  readonly message: string;
  readonly attempt: number;
}

/** The last deliveries that failed, for those who look after the queue. */
export class FailedDeliveries {
  readonly #kept: FailedDelivery[] = [];

  add(ending: Ending, attempt: number): void {
    if (!("failure" in ending)) return;
    const { id: task, owner = null, outcome, failure } = ending;
    const { reason } = failure;
    const message = failure.message.slice(0, MAX_MESSAGE);
    const at = new Date().toISOString();
    this.#kept.unshift({ at, task, owner, outcome, reason, message, attempt });
    this.#kept.splice(MAX_KEPT);
  }

  /** The newest first. */
  get all(): readonly FailedDelivery[] {
    return this.#kept;
  }
}
