import { STATES, type StreamEvent } from "propylon/contract";
import { SSE_HEADERS, SseBody, sseFrame } from "propylon/kit";
import { stateOf, toEvent } from "./answer.ts";

/** Unread bytes beyond which a client is taken for one that reads no more. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** What tells of a task as it goes on. */
interface Watched {
  watch(listener: (event: StreamEvent) => void): () => void;
}

/** Who looks after the reader of a stream. One of the two is called, once. */
interface Reader {
  /** It has read everything. */
  end(): void;
  /** It went away before the end, or reads no more. */
  leave(): void;
}

/**
 * A task as server-sent events: first the task, then its updates, until nobody works on it any more.
 */
export function streamTask(task: Watched, reader: Reader): Response {
  let unwatch: (() => void) | undefined;
  let isOver = false;
  const body = new SseBody({
    onGone(how) {
      isOver = true;
      unwatch?.();
      if (how === "read") reader.end();
      else reader.leave();
    },
  });
  const tell = (event: StreamEvent): void => {
    body.write(sseFrame(JSON.stringify(toEvent(event))));
    if (isLast(event)) body.end();
    else if (body.unsent > MAX_UNREAD) body.cut();
  };
  unwatch = task.watch(tell);
  // The first event may have been too much.
  if (isOver) unwatch();
  return body.response();
}

function isLast(event: StreamEvent): boolean {
  const state = stateOf(event);
  return state !== undefined && (STATES[state].isFinal || STATES[state].isInterrupted);
}

/** A single event for a task that is over before it began. */
export function streamOnce(event: StreamEvent): Response {
  return new Response(sseFrame(JSON.stringify(toEvent(event))), { headers: SSE_HEADERS });
}
