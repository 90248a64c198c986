import type { Dependencies } from "./dependencies.ts";
import { toGatewayError } from "propylon";
import type {
  AgentEvent,
  ChatMessage,
  RunOptions,
  RunResult,
  RunTool,
} from "propylon/plugins/agents";
import type { ManagedAgent, End } from "../record/agent.ts";
import { instructionsFor, REMINDER } from "./instructions.ts";
import { verdictOf } from "./verdict.ts";

/** What a run needs besides its agent. */
export interface RunDependencies extends Dependencies {
  /** Tools for this agent alone. */
  readonly tools: readonly RunTool[];
  /** Ends the agent, unless it ended already. */
  readonly end: (end: End) => Promise<unknown>;
}

/** Lets an agent work on its contract until it ended, one way or the other. Never rejects. */
export async function runContract(
  agent: ManagedAgent,
  dependencies: RunDependencies,
): Promise<void> {
  try {
    await dependencies.end(await work(agent, dependencies));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (!agent.isOver) dependencies.log.warn({ agent: agent.id, err: thrown }, "an agent failed");
    await dependencies.end({ status: "stopped", reason: "error", error: error.message });
  }
}

async function work(agent: ManagedAgent, dependencies: RunDependencies): Promise<End> {
  let messages: readonly ChatMessage[] = [
    { role: "user", parts: [{ type: "text", text: agent.contract }] },
  ];
  for (let reminders = 0; ; reminders++) {
    const result = await dependencies.agents.run(
      agent.name,
      messages,
      runOptions(agent, dependencies),
    );
    const end = endOf(agent, result, dependencies);
    if (end) return end;
    if (reminders >= dependencies.options.maxReminders) return UNFINISHED;
    messages = [...result.messages, REMINDER];
  }
}

const UNFINISHED: End = {
  status: "stopped",
  reason: "unfinished",
  error: "The agent ended its turn without completing its contract.",
};

function runOptions(agent: ManagedAgent, { tools, payloads, end }: RunDependencies): RunOptions {
  return {
    signal: agent.cut.signal,
    principal: agent.owner,
    meta: agent.meta,
    // The request in flight ends normally, no further one is made.
    mayContinue: () => !agent.isOver,
    instructions: instructionsFor(agent.id, payloads !== undefined),
    tools,
    onEvent(event: AgentEvent) {
      agent.hear(event);
      const verdict = event.type === "text" ? verdictOf(event.text) : undefined;
      if (verdict) void end(verdict);
    },
  };
}

/** What the end of a run means for the contract; `undefined` when nothing was said about it. */
function endOf(agent: ManagedAgent, result: RunResult, { agents }: Dependencies): End | undefined {
  if (agent.end) return agent.end;
  const verdict = verdictOf(result.text);
  if (verdict) return verdict;
  if (result.end === "prevented") return UNFINISHED;
  if (result.end !== "finished")
    return {
      status: "stopped",
      reason: result.end,
      error: `The agent used up its budget of ${result.end}.`,
    };
  // Code and remote servers do what they are asked and answer: they cannot call our tools, and their answer is the end.
  return agents.get(agent.name)?.model === undefined
    ? { status: "completed", summary: result.text }
    : undefined;
}
