import { STATES, type StreamEvent } from "propylon/contract";
import { stateOf, toEvent } from "./answer.ts";

/** Unread bytes beyond which a client is taken for one that reads no more. */
const MAX_UNREAD = 16 * 1024 * 1024;
/** Keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;

/** Ends the response without a failure in the log: Node takes it for a connection that was reset. */
const CUT = Object.assign(new Error("The reader is too slow."), { code: "ECONNRESET" });

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

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
  let beat: NodeJS.Timeout | undefined;
  const finish = (how: keyof Reader): void => {
    isOver = true;
    clearInterval(beat);
    unwatch?.();
    reader[how]();
  };
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const send = (text: string): void => controller.enqueue(Buffer.from(text));
    const tell = (event: StreamEvent): void => {
      if (isOver) return;
      send(`data: ${JSON.stringify(toEvent(event))}\n\n`);
      if (isLast(event)) {
        controller.close();
        finish("end");
      } else if ((controller.desiredSize ?? 0) < -MAX_UNREAD) {
        controller.error(CUT);
        finish("leave");
      }
    };
    beat = setInterval(() => send(": keep-alive\n\n"), HEARTBEAT_MS);
    unwatch = task.watch(tell);
    // The first event may have been the last one.
    if (isOver) unwatch();
  };
  const body = new ReadableStream<Uint8Array>(
    { start, cancel: () => finish("leave") },
    { highWaterMark: 0, size: ({ byteLength }) => byteLength },
  );
  return new Response(body, { headers: HEADERS });
}

function isLast(event: StreamEvent): boolean {
  const state = stateOf(event);
  return state !== undefined && (STATES[state].isFinal || STATES[state].isInterrupted);
}

/** A single event for a task that is over before it began. */
export function streamOnce(event: StreamEvent): Response {
  return new Response(`data: ${JSON.stringify(toEvent(event))}\n\n`, { headers: HEADERS });
}
