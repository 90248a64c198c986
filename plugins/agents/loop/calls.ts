import type { AgentEvent } from "propylon/plugins/progress";
import type { Answer, Progress } from "propylon";
import type { ChatPart } from "../model.ts";
import { relayedFrom } from "../relayed.ts";
import type { RunTool } from "../service.ts";
import {
  cutText,
  describeAnswer,
  describeThrown,
  say,
  type ResultLimits,
  type ToolOutcome,
} from "./outcome.ts";
import { mapParallel, race } from "./race.ts";
import type { Toolbox } from "./toolbox.ts";

type ToolCall = Extract<ChatPart, { readonly type: "tool-call" }>;
type ToolResult = Extract<ChatPart, { readonly type: "tool-result" }>;

/** A call of a server's tool, for code that makes it as the agent. */
export interface ServerCall {
  readonly server: string;
  /** Name of the tool at its own server. */
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Set when somebody listens to the run. */
  readonly progress: ((progress: Progress) => void) | undefined;
}

/** Makes a call of a server's tool; what it throws is told to the model. */
export type CallServer = (call: ServerCall) => Promise<Answer>;

/** What tool calls are made with. */
export interface CallContext {
  readonly toolbox: Toolbox;
  readonly call: CallServer;
  readonly results: ResultLimits;
  /** Most calls at once. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  /** Whether the run was told to make no further request. */
  isStopped(): boolean;
  /** Never throws; `undefined` = nobody listens. */
  readonly emit: ((event: AgentEvent) => void) | undefined;
}

/** How many of the calls go to servers: those count against a budget, and a stop prevents them. */
export function countServerCalls(calls: readonly ToolCall[], toolbox: Toolbox): number {
  return calls.filter((call) => isServerCall(call, toolbox)).length;
}

function isServerCall({ name, invalid }: ToolCall, toolbox: Toolbox): boolean {
  const destination = toolbox.find(name);
  return invalid === undefined && destination !== undefined && "server" in destination;
}

/**
 * Makes the calls of one turn and gives each exactly one result, in the order of the calls, whatever happens. Never throws.
 * @param refusal why calls of servers are not made; tools of the run itself are run all the same
 */
export function makeCalls(
  calls: readonly ToolCall[],
  context: CallContext,
  refusal: string | undefined,
): Promise<ToolResult[]> {
  return mapParallel(calls, context.parallel, async (call) => {
    const { parts, isError } = await makeCall(call, context, refusal);
    return { type: "tool-result", id: call.id, name: call.name, parts, isError };
  });
}

async function makeCall(
  call: ToolCall,
  context: CallContext,
  refusal: string | undefined,
): Promise<ToolOutcome> {
  const { name, args, invalid } = call;
  const destination = context.toolbox.find(name);
  if (!destination) return say(describeUnknown(name, context.toolbox.names), true);
  if (invalid !== undefined) return say(`${invalid} Call again with one JSON object.`, true);
  if ("own" in destination) return runOwn(destination.own, args, context.signal);
  if (refusal !== undefined) return say(`Not run: ${refusal}`, true);
  // It waited for its turn while the run ended, or was stopped.
  if (context.signal.aborted) return say("Not run: the run has ended.", true);
  if (context.isStopped()) return say("Not run: the agent was stopped.", true);
  const { server, tool } = destination;
  return callServer({ server, name: tool, args, signal: context.signal }, context);
}

function describeUnknown(name: string, names: readonly string[]): string {
  const known = names.length === 0 ? "There are no tools." : `Tools: ${names.join(", ")}.`;
  return `There is no tool "${name}". ${known}`;
}

async function runOwn(
  tool: RunTool,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  try {
    return say(await race(runNow(tool, args), signal));
  } catch (thrown) {
    return describeThrown(thrown);
  }
}

/** Turns a throw of a synchronous tool into a rejection. */
async function runNow(tool: RunTool, args: Readonly<Record<string, unknown>>): Promise<string> {
  return tool.run(args);
}

async function callServer(
  call: Omit<ServerCall, "progress">,
  context: CallContext,
): Promise<ToolOutcome> {
  const { emit, signal } = context;
  const about = { type: "tool" as const, server: call.server, tool: call.name };
  let open = true;
  // Reports that come after the end would say that a finished tool is at work.
  const progress =
    emit && ((report: Progress) => open && emit(relayedFrom(call.server, call.name, report)));
  emit?.({ ...about, state: "started" });
  const outcome = await answerOf(
    () => context.call({ ...call, progress }),
    signal,
    context.results,
  );
  open = false;
  const state = outcome.isError ? "failed" : "completed";
  emit?.({ ...about, state, ...(outcome.isError && { message: summarise(outcome) }) });
  return outcome;
}

async function answerOf(
  call: () => Promise<Answer>,
  signal: AbortSignal,
  limits: ResultLimits,
): Promise<ToolOutcome> {
  const { parts, isError } = await settle(call, signal, limits);
  return { parts: cutText(parts, limits.text), isError };
}

async function settle(
  call: () => Promise<Answer>,
  signal: AbortSignal,
  limits: ResultLimits,
): Promise<ToolOutcome> {
  try {
    return describeAnswer(await race(call(), signal), limits);
  } catch (thrown) {
    return describeThrown(thrown);
  }
}

/** The first line of what went wrong, short enough for a status line. */
function summarise({ parts }: ToolOutcome): string {
  const text = parts.find((part) => part.type === "text")?.text ?? "failed";
  const line = text.split("\n", 1)[0]!.replace(/^Error \([^)]*\): /, "");
  return line.length > 200 ? `${line.slice(0, 200)}...` : line;
}
