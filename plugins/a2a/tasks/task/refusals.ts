import { GatewayError } from "propylon";
import type { LiveTask } from "./live-task.ts";

/** Why a task that waited for somebody failed. */
export const NO_ANSWER = "No answer came in time.";
/** Why a task failed that was under way when its replica ended. */
export const ABANDONED = "The gateway ended while this task was under way. Send the message again.";
/** Why work ends with the gateway. */
export const SHUTDOWN = new GatewayError("cancelled", "The gateway is shutting down.");

/** Why a task of a queue failed that was begun again and again. */
export function lostTooOften(runs: number): GatewayError {
  return new GatewayError(
    "internal",
    `The work was begun ${runs} times, and each time its replica ended before it did.`,
  );
}
/** Why a task of a queue failed that was not begun. */
export const NOT_LET_IN = new GatewayError(
  "unauthorized",
  "The credential of its sender is no longer valid.",
);
/** Why the work on a task of a queue ends that another replica was handed meanwhile. */
export const LOST = new GatewayError("cancelled", "Another replica works on this task.");
/** Why a task of a queue failed in the middle of whose work something was asked. */
export const CALL_GONE = new GatewayError("cancelled", ABANDONED);

/** A task that is not there, or somebody else's. */
export function unknownTask(): GatewayError {
  return new GatewayError("not_found", "There is no such task.", {
    hint: "Tasks that ended are kept for a while only.",
  });
}

/** A task that no replica is at in this moment. */
export function inMotion(): GatewayError {
  return new GatewayError("unavailable", "The task is between two replicas.", {
    hint: "Make the request again.",
  });
}

/** A message to a task that another replica is at. */
export function refuseAtReplica(): GatewayError {
  return new GatewayError("exists", "Another replica is at this task.", {
    hint: "Wait until it has ended or asks for something.",
  });
}

/** A message to a task that takes none. */
export function refuseMessage({ state, isFinal }: LiveTask): GatewayError {
  return new GatewayError("exists", `The task is ${state} and does not accept messages.`, {
    hint: isFinal
      ? "Send the message without its id, with its contextId to go on in the same conversation."
      : "Wait until it has ended or asks for something.",
    data: { state },
  });
}

/** Another message under an id that was used: to take it for the previous one would lose it. */
export function refuseReuse(): GatewayError {
  return new GatewayError("exists", "This messageId was used for another message.", {
    hint: "Give every message an id of its own; only the very same message may be sent again.",
  });
}

/** An answer to a task of which nothing is left: without what was said before, an answer means something else. */
export function refuseLost(): GatewayError {
  return new GatewayError(
    "not_found",
    "Nothing is left of the task that this message answers, so it cannot go on.",
    { hint: "Begin a new task, and say everything again." },
  );
}

/** A cancel of a task that ended. */
export function refuseCancel({ state }: LiveTask): GatewayError {
  return new GatewayError("exists", `The task is ${state} already.`, {
    hint: "There is nothing to cancel.",
    data: { state },
  });
}
