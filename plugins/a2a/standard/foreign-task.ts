import { type Json, toGatewayError } from "propylon";
import { fromContent } from "propylon/internal";
import { answerOfEnd, JOB_STATES, type SharedTask } from "propylon/plugins/tasks";
import type { Part, Task } from "propylon/contract";

/**
 * A task that was begun through another face of the gateway, as one of A2A: it is alone in its context, and has no history. Its
 * result is an artifact; a tool's own failure is that of the task.
 */
export function toAgentTask(task: SharedTask): Task {
  const { id, kind, server, name, state, updatedAt } = task;
  const { parts, isError } = outcomeOf(task);
  const words: readonly Part[] = isError ? parts : saidBy(task);
  return {
    id,
    contextId: id,
    status: {
      state: isError ? "failed" : JOB_STATES[state].a2a,
      timestamp: updatedAt,
      ...(words.length > 0 && {
        message: { messageId: `${id}-status`, role: "agent" as const, parts: [...words] },
      }),
    },
    artifacts: isError || parts.length === 0 ? [] : [{ artifactId: "result", parts: [...parts] }],
    history: [],
    metadata: { kind, server, name },
  };
}

interface Outcome {
  readonly parts: readonly Part[];
  readonly isError: boolean;
}

function outcomeOf({ end }: SharedTask): Outcome {
  if (end === undefined) return { parts: [], isError: false };
  try {
    const answer = answerOfEnd(end);
    if (answer.isRpcError) return { parts: [{ text: answer.error!.message }], isError: true };
    const { content, structuredContent, isError } = answer.result!;
    const blocks = Array.isArray(content) ? (content as Json[]).map(fromContent) : [];
    const parts = blocks.length > 0 ? blocks : [{ data: structuredContent ?? null }];
    return { parts, isError: isError === true };
  } catch (thrown) {
    return { parts: [{ text: toGatewayError(thrown).message }], isError: true };
  }
}

/** What it asks, or says of its state. A question is answered through the face that it was begun with. */
function saidBy({ questions, message }: SharedTask): readonly Part[] {
  const asked = [...questions.values()].flatMap(({ params }) => params?.["message"] ?? []);
  const words = asked.length > 0 ? asked.map(String) : message === undefined ? [] : [message];
  return words.map((text) => ({ text }));
}
