import type { Json, Peer } from "propylon";
import type { Task } from "propylon/contract";
import { questionOf } from "./result.ts";

const ANSWER_SCHEMA: Json = {
  type: "object",
  properties: { answer: { type: "string", title: "Answer" } },
  required: ["answer"],
};

/**
 * Asks the user behind a call what an agent wants to know, if the client can (MCP elicitation).
 *
 * @returns `undefined` when nobody can or wants to answer, or the agent wants credentials, which MCP forbids to ask for
 */
export async function askCaller(
  peer: Peer,
  task: Task,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (task.status.state !== "input-required" || !peer.capabilities["elicitation"]) return undefined;
  const params = { message: questionOf(task), requestedSchema: ANSWER_SCHEMA };
  try {
    const { action, content } = await peer.ask("elicitation/create", params, signal);
    const answer = (content as Json | undefined)?.["answer"];
    return action === "accept" && typeof answer === "string" ? answer : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
