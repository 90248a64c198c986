import type { AgentEvent } from "../../../plugins/progress/service.ts";
import { Answer, GatewayError } from "propylon";
import fc from "fast-check";
import type {
  ChatMessage,
  Model,
  ModelReply,
  ModelRequest,
  ChatPart,
} from "../../../plugins/agents/model.ts";
import { runLoop } from "../../../plugins/agents/loop/loop.ts";
import { Toolbox } from "../../../plugins/agents/loop/toolbox.ts";
import type { RunResult } from "../../../plugins/agents/service.ts";
import { tool, user } from "./start.ts";

/** One reply of the model: any mix of texts, good and bad calls, ids used again. */
const callPart = fc.record({
  type: fc.constant("tool-call" as const),
  id: fc.constantFrom("", "a", "a", "b", "call"),
  name: fc.constantFrom("files__read", "files__list", "files__gone", "own", ""),
  args: fc.constant({}),
  invalid: fc.option(fc.constant("The arguments are invalid JSON."), { nil: undefined, freq: 5 }),
});
const textPart = fc.record({
  type: fc.constant("text" as const),
  text: fc.string({ maxLength: 5 }),
});
const replies: fc.Arbitrary<ModelReply[]> = fc.array(
  fc.record({
    parts: fc.array(fc.oneof(textPart, callPart, callPart), { maxLength: 5 }),
    usage: fc.record({ inputTokens: fc.nat(20), outputTokens: fc.nat(20) }),
    finish: fc.constantFrom("stop", "tool-calls", "length", "refused"),
  }),
  { maxLength: 8 },
);

type Outcome = "ok" | "isError" | "rpcError" | "refused" | "crash" | "empty";
const outcome = fc.constantFrom<Outcome>("ok", "isError", "rpcError", "refused", "crash", "empty");

/** What a model says, what tools do, and what bounds the run. */
export const script = fc.record({
  replies,
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 6 }),
  limits: fc.record(
    {
      turns: fc.integer({ min: 1, max: 6 }),
      toolCalls: fc.nat(8),
      tokens: fc.integer({ min: 1, max: 150 }),
      outputTokens: fc.integer({ min: 1, max: 30 }),
    },
    { requiredKeys: [] },
  ),
  parallel: fc.integer({ min: 1, max: 4 }),
  /** Requests and tool calls after which somebody stops the run. */
  stopAfter: fc.option(fc.nat(12), { nil: undefined }),
});

type Script = typeof script extends fc.Arbitrary<infer T> ? T : never;

/** A request to the model, and how things stood. */
export interface Asked {
  readonly request: ModelRequest;
  readonly isStopped: boolean;
  /** Tokens spent before it. */
  readonly spent: number;
}

/** A script played to its end. */
export interface Played {
  readonly result: RunResult;
  readonly events: readonly AgentEvent[];
  readonly asked: readonly Asked[];
  readonly called: number;
  /** Maximum tool calls at once. */
  readonly peak: number;
  readonly isStopped: boolean;
}

const SILENCE: ModelReply = {
  parts: [],
  usage: { inputTokens: 1, outputTokens: 1 },
  finish: "stop",
};

/** Runs a script and writes down whatever happens. */
export async function play(value: Script): Promise<Played> {
  const events: AgentEvent[] = [];
  const asked: Asked[] = [];
  const tools = new Tools(value.outcomes);
  let spent = 0;
  const isStopped = (): boolean =>
    value.stopAfter !== undefined && asked.length + tools.called >= value.stopAfter;
  const model: Model = {
    id: "p/m",
    preflight: () => Promise.resolve({ provider: "p", model: "m", status: "unknown" }),
    generate: (request) => {
      const reply = value.replies[asked.length] ?? SILENCE;
      asked.push({ request, isStopped: isStopped(), spent });
      spent += reply.usage.inputTokens + reply.usage.outputTokens;
      return Promise.resolve(reply);
    },
  };
  const own = { name: "own", description: "Own.", inputSchema: {}, run: () => "noted" };
  const result = await runLoop({
    model,
    system: "",
    messages: [user("Go.")],
    toolbox: new Toolbox([tool("files", "read"), tool("files", "list")], [own]),
    call: () => tools.call(),
    limits: { ...value.limits, parallel: value.parallel },
    signal: new AbortController().signal,
    mayContinue: () => !isStopped(),
    onEvent: (event) => events.push(event),
  });
  const { called, peak } = tools;
  return { result, events, asked, called, peak, isStopped: isStopped() };
}

/** Tools that come to what a script says. */
class Tools {
  called = 0;
  peak = 0;
  #running = 0;
  readonly #outcomes: readonly Outcome[];

  constructor(outcomes: readonly Outcome[]) {
    this.#outcomes = outcomes;
  }

  async call(): Promise<Answer> {
    this.peak = Math.max(this.peak, ++this.#running);
    const kind = this.#outcomes[this.called++ % this.#outcomes.length]!;
    await new Promise(setImmediate);
    this.#running--;
    if (kind === "refused") throw new GatewayError("disabled", "It is disabled.");
    if (kind === "crash") throw new TypeError("x is undefined");
    if (kind === "rpcError") return Answer.error({ code: -32602, message: "No." });
    const content = kind === "empty" ? [] : [{ type: "text", text: kind }];
    return Answer.result({ content, isError: kind === "isError" });
  }
}

/** What is wrong with a conversation: a call without its one result, a result out of place, an id used twice, an empty message. */
export function problemsOf(messages: readonly ChatMessage[]): string[] {
  const ids = messages.flatMap(({ parts }) => callsIn(parts).map(({ id }) => id));
  return [
    ...ids.filter((id, index) => id === "" || ids.indexOf(id) !== index).map((id) => `id ${id}`),
    ...messages.flatMap((message, index) => problemsAt(message, messages[index + 1])),
  ];
}

function problemsAt({ role, parts }: ChatMessage, next: ChatMessage | undefined): string[] {
  const empty = parts.length === 0 ? [`empty ${role}`] : [];
  const calls = callsIn(parts).map(({ id, name }) => `${id} ${name}`);
  const results = next?.parts.flatMap((part) => {
    if (part.type !== "tool-result") return [];
    return [`${part.id} ${part.name}${part.parts.length > 0 ? "" : " without content"}`];
  });
  const answered = (results ?? []).join() === calls.join();
  const inPlace = calls.length === 0 || next?.role === "tool";
  return answered && inPlace ? empty : [...empty, `${calls.join()} answered by ${results?.join()}`];
}

function callsIn(parts: readonly ChatPart[]): Extract<ChatPart, { type: "tool-call" }>[] {
  return parts.filter((part) => part.type === "tool-call");
}
