import type { Means } from "./means.ts";
import { toGatewayError } from "propylon";
import type { AgentEvent, Message, RunOptions, RunResult, RunTool } from "propylon/plugins/agents";
import type { Agent, End } from "./agent.ts";
import { instructionsFor, REMINDER } from "./instructions.ts";
import { verdictOf } from "./verdict.ts";

/** What a run needs besides its agent. */
export interface RunMeans extends Means {
  /** Tools for this agent alone. */
  readonly tools: readonly RunTool[];
  /** Ends the agent, unless it ended already. */
  readonly end: (end: End) => Promise<unknown>;
}

/** Lets an agent work on its contract until it ended, one way or the other. Never rejects. */
export async function runContract(agent: Agent, means: RunMeans): Promise<void> {
  try {
    await means.end(await work(agent, means));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (!agent.isOver) means.log.warn({ agent: agent.id, err: thrown }, "an agent failed");
    await means.end({ status: "stopped", reason: "error", error: error.message });
  }
}

async function work(agent: Agent, means: RunMeans): Promise<End> {
  let messages: readonly Message[] = [
    { role: "user", parts: [{ type: "text", text: agent.contract }] },
  ];
  for (let reminders = 0; ; reminders++) {
    const result = await means.agents.run(agent.name, messages, runOptions(agent, means));
    const end = endOf(agent, result, means);
    if (end) return end;
    if (reminders >= means.options.maxReminders) return UNFINISHED;
    messages = [...result.messages, REMINDER];
  }
}

const UNFINISHED: End = {
  status: "stopped",
  reason: "unfinished",
  error: "The agent ended its turn without completing its contract.",
};

function runOptions(agent: Agent, { tools, payloads, end }: RunMeans): RunOptions {
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
function endOf(agent: Agent, result: RunResult, { agents }: Means): End | undefined {
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
