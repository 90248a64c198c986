import { FIRST_PROBLEM } from "propylon/kit";
import {
  STATES,
  streamEventSchema,
  TaskFold,
  type StreamEvent,
  type Task,
} from "propylon/contract";
import { Failure } from "../message/failure.ts";
import { excess, parseAnswer } from "./answer.ts";

/**
 * Reads events to their end and puts the task together from them.
 *
 * @param limit most bytes of all artifacts
 * @throws {Failure} `unreachable` when it is interrupted, `invalid_answer` for an invalid event, `result_too_large`
 */
export async function readStream(
  events: AsyncIterable<{ readonly data: string }>,
  id: string,
  limit: number,
  tell: (event: StreamEvent) => void,
): Promise<Task> {
  const begun: Task = { id, status: { state: "submitted" } };
  const fold = new TaskFold(begun, limit, () => excess("The artifacts", limit));
  for await (const { data } of events) {
    const event = eventOf(data);
    fold.add(event);
    tell(event);
    // A runtime may leave the stream open behind the end of the task.
    if (isOver(fold.task)) return fold.task;
  }
  throw new Failure("unreachable", "The runtime's stream ended before the task did.");
}

function isOver({ status }: Task): boolean {
  const { isFinal, isInterrupted } = STATES[status.state];
  return isFinal || isInterrupted;
}

function eventOf(text: string): StreamEvent {
  try {
    return streamEventSchema.parse(parseAnswer(text), FIRST_PROBLEM);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure(
      "invalid_answer",
      "The runtime's stream holds something other than an event.",
      cause,
    );
  }
}
