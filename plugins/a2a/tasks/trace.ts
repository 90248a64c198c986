import type { SendOptions } from "../service.ts";
import type { Skill } from "../skills.ts";
import type { Work } from "./work.ts";
import type { Json, PluginContext, Principal } from "propylon";
import type { Logger } from "pino";
import type { Part, TaskState } from "propylon/contract";
import { SpanKind } from "@opentelemetry/api";
import { failSpan, withSpan } from "propylon/plugins/telemetry";
import type { LiveTask } from "./live-task.ts";

/**
 * Works on one message within a span of the A2A conventions, below the trace context it came with. A message without
 * any begins a trace: the engine starts it in whatever context the moment has.
 */
export function traceTurn(
  task: LiveTask,
  context: TurnContext,
  work: (context: TurnContext) => Promise<Ending>,
): Promise<Ending> {
  const input = {
    kind: SpanKind.SERVER,
    meta: context.meta ?? {},
    attributes: {
      "a2a.method.name": "SendMessage",
      "a2a.task.id": task.id,
      "propylon.skill": task.skill,
    },
  };
  return withSpan("SendMessage", input, async ({ span, meta }) => {
    const end = await work({ ...context, meta });
    const { state, metadata } = end;
    const code = metadata?.["code"];
    span.setAttribute("a2a.task.state", state);
    if (state === "failed") failSpan(span, typeof code === "string" ? code : "task_failed");
    return end;
  });
}

/** How the work on a message ended. */
export interface Ending {
  readonly state: TaskState;
  readonly parts?: readonly Part[] | undefined;
  readonly metadata?: Json | undefined;
}

/** What the work on one message needs. */
export interface TurnContext extends Pick<SendOptions, "meta" | "signal"> {
  readonly principal: Principal;
  readonly skill: Skill | undefined;
  readonly call: PluginContext["call"];
  readonly options: { readonly ending: number };
  readonly log: Logger;
  /** Where our own tools find the work that a call is about. */
  readonly works: Map<string, Work>;
  isDraining(): boolean;
}
