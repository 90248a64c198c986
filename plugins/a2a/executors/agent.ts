import { GatewayError, type Call } from "propylon";
import { timeoutSignal, traceOf } from "propylon/kit";
import { storeKey } from "propylon/store";
import { textOf } from "propylon/contract";
import type { AgentsService, ChatMessage, RunResult, RunTool } from "propylon/plugins/agents";
import type { A2aOptions, SkillOptions } from "../options.ts";
import { compact } from "../tasks/compaction.ts";
import type { Conversation, Conversations } from "../tasks/conversations.ts";
import type { Work } from "../tasks/task/work.ts";
import { fromAgent, historyOf, toAgent } from "./agent-parts.ts";
import type { AgentExecutor } from "./skill-tools.ts";
import { TaskReporter } from "./reporter.ts";

/** What agent skills work with. */
export interface AgentSkillInput {
  readonly options: SkillOptions;
  readonly agents: AgentsService;
  readonly conversations: Conversations;
  readonly sessions: A2aOptions["sessions"];
}

/**
 * A skill that is an agent of the config, which goes on with the conversation of the same context.
 *
 * @throws {GatewayError} `invalid` when there is no such agent
 */
export function agentExecutor(input: AgentSkillInput): AgentExecutor {
  const { options, agents, conversations, sessions } = input;
  const name = options.agent!;
  const agent = agents.get(name);
  if (!agent)
    throw new GatewayError("invalid", `The skill "${options.id}" names no agent of the config.`, {
      hint: `Agents: ${
        agents
          .list()
          .map((each) => each.name)
          .join(", ") || "none"
      }.`,
      data: { path: "plugins.a2a.skills" },
    });
  return {
    description: agent.description ?? `Asks the agent "${agent.title ?? name}".`,
    run: (work, call) =>
      // Another's conversation is not found, whatever context they name.
      conversations.use(
        storeKey(call.principal.ref, work.contextId, name),
        sessions,
        call.signal,
        (conversation) => converse(conversation, work, call, input),
      ),
  };
}

/** One turn of a conversation. */
async function converse(
  { messages: before }: Conversation,
  work: Work,
  call: Call,
  input: AgentSkillInput,
): Promise<Conversation> {
  const { options, agents } = input;
  const name = options.agent!;
  const hasVision = agents.get(name)?.capabilities?.["vision"] === true;
  const said: ChatMessage = { role: "user", parts: toAgent(work.message.parts, hasVision) };
  // A conversation that is kept no longer goes on from what the task itself knows.
  const known = before.length > 0 ? before : historyOf(work.history);
  const messages = await shorten([...known, said], work, call, input);
  const reporter = new TaskReporter(work);
  const result = await agents.run(name, messages, {
    signal: call.signal,
    principal: call.principal,
    meta: traceOf(call.meta ?? {}),
    peer: work.peer ?? call.peer,
    deltas: true,
    onEvent: (event) => reporter.hear(event),
    mayContinue: () => work.verdict === undefined,
    ...(options.asks && { tools: [askUser(work)] }),
  });
  conclude(result, work, reporter);
  return { messages: withQuestion(result.messages, work) };
}

/** What was asked with a tool stands in the conversation as said: models expect an answer to that, and not to a result. */
function withQuestion(messages: readonly ChatMessage[], { verdict }: Work): readonly ChatMessage[] {
  if (messages.at(-1)?.role !== "tool" || !verdict?.parts) return messages;
  const parts = [{ type: "text" as const, text: textOf(verdict.parts) }];
  return [...messages, { role: "assistant", parts }];
}

/** Compacts a conversation that is too long, and says so. */
async function shorten(
  messages: readonly ChatMessage[],
  work: Work,
  call: Call,
  { options, agents, sessions: { compaction } }: AgentSkillInput,
): Promise<readonly ChatMessage[]> {
  if (compaction === false) return messages;
  const summarise = summariser(agents, options.agent!, call, compaction.timeout);
  const compacted = await compact(messages, compaction, summarise);
  if (!compacted) return messages;
  work.status([{ text: "The conversation was compacted." }], { compaction: compacted.report });
  return compacted.messages;
}

/** @throws {GatewayError} `upstream_error` when a budget ran out: half an answer must not pass for a whole one */
function conclude(result: RunResult, work: Work, reporter: TaskReporter): void {
  const { end, text, parts } = result;
  if (work.verdict) return;
  if (end !== "finished" && end !== "prevented") throw new GatewayError("upstream_error", text);
  reporter.finish(fromAgent(parts));
}

/** The tool with which an agent asks for more: its run ends, and the answer is the next message of the task. */
function askUser(work: Work): RunTool {
  return {
    name: "ask_user",
    description:
      "Asks the person or agent behind this task a question, when you cannot go on without the answer. Your turn ends; the answer is the next message.",
    inputSchema: {
      type: "object",
      properties: { question: { type: "string", description: "What you need to know." } },
      required: ["question"],
    },
    run({ question }) {
      if (typeof question !== "string" || question === "")
        return 'Error: send { "question": "..." }.';
      work.ask([{ text: question }]);
      return "The question was asked. The answer is the next message.";
    },
  };
}

const WANTED =
  "Summarise this conversation for yourself, so that you can go on with it from the summary alone: what was asked, what was decided and found out, what is open. Facts, names and numbers matter; write no more than a page.";

/** Has an agent's own model summarise a transcript, with one request and without any tool. */
function summariser(
  agents: AgentsService,
  agent: string,
  { signal, principal }: Pick<Call, "signal" | "principal">,
  time: number,
): (transcript: string) => Promise<string> {
  return async (transcript) => {
    if (agents.get(agent)?.model === undefined)
      throw new GatewayError("invalid", "The agent has no model of its own.");
    let isOver = false;
    const { text, end } = await agents.run(
      agent,
      [{ role: "user", parts: [{ type: "text", text: `${WANTED}\n\n${transcript}` }] }],
      {
        signal: AbortSignal.any([signal, timeoutSignal(time)]),
        principal,
        mayContinue: () => !isOver,
        // A model that reaches for a tool all the same gets none, and no further turn.
        onEvent: ({ type, ...event }) => {
          if (type === "step" && "kind" in event && event.kind === "tool") isOver = true;
        },
      },
    );
    signal.throwIfAborted();
    if (end !== "finished") throw new GatewayError("upstream_error", "There is no summary.");
    return text;
  };
}
