import { STATES, type StreamEvent } from "propylon/contract";
import { SSE_HEADERS, SseBody, sseFrame, writeJson } from "propylon/kit";
import { toEnvelope } from "propylon/internal";
import type { PostRequest } from "../post.ts";
import { stateOf } from "../contract/task.ts";
import { toEvent } from "./answer.ts";

/** Unread bytes beyond which a client is taken for one that reads no more. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** What tells of a task as it goes on. */
interface Watched {
  watch(listener: (event: StreamEvent) => void): () => void;
}

/** Who looks after the reader of a stream. One of the two is called, once. */
interface Reader {
  /** Everything was sent. */
  end(): void;
  /** It went away before the end, or reads no more. */
  leave(): void;
}

/**
 * A task as server-sent events: first the task, then its updates, until nobody works on it any more, or the credential is gone.
 */
export function streamTask(
  task: Watched,
  reader: Reader,
  onRevoked?: PostRequest["onRevoked"],
): Response {
  let unwatch: (() => void) | undefined;
  let isOver = false;
  const finish = (how: keyof Reader): void => {
    if (isOver) return;
    isOver = true;
    unwatch?.();
    reader[how]();
  };
  const body = new SseBody({ onGone: () => finish("leave") });
  const tell = (event: StreamEvent): void => {
    body.write(sseFrame(writeJson(toEvent(event))));
    if (isLast(event)) {
      body.end();
      // A client that leaves behind the last event, before the end of the stream, has its answer: the task may wait for its next one.
      finish("end");
    } else if (body.unsent > MAX_UNREAD) body.cut();
  };
  unwatch = task.watch(tell);
  // The first event may have been the last one.
  if (isOver) unwatch();
  onRevoked?.((error) => {
    body.write(sseFrame(JSON.stringify(toEnvelope(error)), "error"));
    body.end();
  });
  return body.response();
}

function isLast(event: StreamEvent): boolean {
  const state = stateOf(event);
  return state !== undefined && (STATES[state].isFinal || STATES[state].isInterrupted);
}

/** A single event for a task that is over before it began. */
export function streamOnce(event: StreamEvent): Response {
  return new Response(sseFrame(writeJson(toEvent(event))), { headers: SSE_HEADERS });
}
