import { GatewayError } from "propylon";
import type { LiveTask } from "./live-task.ts";

/** Why a task that waited for somebody failed. */
export const NO_ANSWER = "No answer came in time.";
/** Why a task failed that was under way when its gateway ended. */
export const ABANDONED = "The gateway ended while this task was under way. Send the message again.";
/** Why work ends with the gateway. */
export const SHUTDOWN = new GatewayError("cancelled", "The gateway is shutting down.");

/** A message to a task that takes none. */
export function refuseMessage({ state, isFinal }: LiveTask): GatewayError {
  return new GatewayError("exists", `The task is ${state} and does not accept messages.`, {
    hint: isFinal
      ? "Send the message without its id, with its contextId to go on in the same conversation."
      : "Wait until it has ended or asks for something.",
    data: { state },
  });
}

/** Another message under an id that was used: to take it for the one before would lose it. */
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
