import { SpanKind } from "@opentelemetry/api";
import type { Json } from "propylon";
import type { TaskState } from "propylon/contract";
import { failSpan, withSpan } from "propylon/plugins/telemetry";
import type { LiveTask } from "./live-task.ts";

/** What a span tells of the end of a turn. */
interface Traced {
  readonly state: TaskState;
  readonly metadata?: Json | undefined;
}

/**
 * Works on one message within a span of the A2A conventions, below the trace context it came with. A message without
 * any begins a trace: the runtime starts it in whatever context the moment has.
 */
export function traceTurn<E extends Traced>(
  task: LiveTask,
  meta: Json | undefined,
  work: (meta: Json | undefined) => Promise<E>,
): Promise<E> {
  const input = {
    kind: SpanKind.SERVER,
    meta: meta ?? {},
    attributes: {
      "a2a.method.name": "SendMessage",
      "a2a.task.id": task.id,
      "propylon.skill": task.skill,
    },
  };
  return withSpan("SendMessage", input, async ({ span, meta: next }) => {
    const end = await work(next);
    const { state, metadata } = end;
    const code = metadata?.["code"];
    span.setAttribute("a2a.task.state", state);
    if (state === "failed") failSpan(span, typeof code === "string" ? code : "task_failed");
    return end;
  });
}
