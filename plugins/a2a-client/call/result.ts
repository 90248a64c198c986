import { Answer, type Json } from "propylon";
import { isObject } from "propylon/kit";
import { toContent } from "propylon/internal";
import { STATES, textOf, type Part, type Task } from "propylon/contract";
import type { Outcome } from "./view.ts";

/** Key of `_meta` under which a result tells its ids and state. */
const RESULT_META = "propylon/a2a";

/**
 * How a turn ended as the result of a tool. The parts of artifacts become content; one single JSON object is structured content
 * too. A task that failed, was rejected or canceled is the tool's own failure, with the agent's reason first; one that waits says for
 * what, and how to go on with it.
 */
export function outcomeToAnswer(outcome: Outcome): Answer {
  if ("message" in outcome) {
    const { parts, contextId } = outcome.message;
    return Answer.result({ ...contentOf(parts), ...metaOf({ contextId }) });
  }
  const { task } = outcome;
  const meta = metaOf({ taskId: task.id, contextId: task.contextId, state: task.status.state });
  const { isInterrupted } = STATES[task.status.state];
  if (isInterrupted) return Answer.result({ ...waiting(task), ...meta });
  if (task.status.state === "completed") return Answer.result({ ...completed(task), ...meta });
  return Answer.result({ ...failure(task), ...meta });
}

/** What an agent asks for, in its own words. */
export function questionOf({ status }: Task): string {
  const words = status.message && textOf(status.message.parts);
  if (words) return words;
  return status.state === "auth-required"
    ? "The agent needs somebody to authorise it."
    : "The agent needs more input.";
}

function completed(task: Task): Json {
  const parts = partsOf(task);
  // Some agents say it in the last status, and make no artifact.
  return contentOf(parts.length > 0 ? parts : (task.status.message?.parts ?? []));
}

function failure(task: Task): Json {
  const why =
    (task.status.message && textOf(task.status.message.parts)) ||
    `The agent's task was ${task.status.state}.`;
  return { isError: true, content: [said(why), ...partsOf(task).map(toContent)] };
}

function waiting(task: Task): Json {
  const { id: taskId, contextId, status } = task;
  const question = questionOf(task);
  const how = `To go on, call this tool again with taskId ${JSON.stringify(taskId)} and your answer as message.`;
  return {
    content: [said(question), ...partsOf(task).map(toContent), said(how)],
    structuredContent: {
      state: status.state,
      question,
      taskId,
      ...(contextId !== undefined && { contextId }),
    },
  };
}

function partsOf({ artifacts = [] }: Task): Part[] {
  return artifacts.flatMap(({ parts }) => parts);
}

function contentOf(parts: readonly Part[]): Json {
  const [only, more] = parts.filter(({ data }) => data !== undefined);
  const isAlone = only !== undefined && more === undefined && isObject(only.data);
  return {
    content: parts.map(toContent),
    // A client may show this in place of the content, so it must be all there is.
    ...(isAlone && parts.length === 1 && { structuredContent: only.data }),
  };
}

function metaOf(facts: Readonly<Record<string, string | undefined>>): Json {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined);
  return known.length === 0 ? {} : { _meta: { [RESULT_META]: Object.fromEntries(known) } };
}

function said(text: string): Json {
  return { type: "text", text };
}
