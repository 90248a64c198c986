import { writeJson } from "propylon/kit";
import type { AgentEvent } from "propylon/plugins/progress";
import type { ChatMessage, Model, ModelReply, ChatPart } from "../model.ts";
import type { RunResult } from "../service.ts";
import { countServerCalls, makeCalls, type CallContext, type CallServer } from "./calls.ts";
import { RunDeadline } from "./deadline.ts";
import { RunMessages } from "./messages.ts";
import { Budget, type RunLimits } from "./limits.ts";
import { cancelled, race } from "./race.ts";
import type { Toolbox } from "./toolbox.ts";

/** One run of an agent. */
export interface LoopInput {
  readonly model: Model;
  /** Instructions, ahead of the conversation. */
  readonly system: string;
  readonly messages: readonly ChatMessage[];
  readonly toolbox: Toolbox;
  /** Makes the calls of servers' tools, as the agent. */
  readonly call: CallServer;
  readonly limits: RunLimits;
  /** Ends the run at once, whatever is in flight. */
  readonly signal: AbortSignal;
  readonly temperature?: number | undefined;
  /** Asked before every request to the model, and before tools of servers are run. */
  readonly mayContinue?: (() => boolean) | undefined;
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  /** Whether `text` events come while the model writes. */
  readonly deltas?: boolean | undefined;
}

/** Most bytes of one image: no provider takes larger ones. */
const IMAGE = 5 * 1_024 * 1_024;

/**
 * Asks the model and runs its tool calls until it is done, somebody stops it, or a budget is used up.
 *
 * Every tool call of the model gets exactly one result, in order; a call that fails or is refused is told to the model. When
 * `mayContinue` says no, the request in flight ends normally, no further one is made, and tools of servers are not run any more.
 * @throws {GatewayError} `upstream_error` when the model fails; `cancelled` when the signal aborts
 */
export async function runLoop(input: LoopInput): Promise<RunResult> {
  const clock = new RunDeadline(input.signal, input.limits.time);
  try {
    return await new Run(input, clock).run();
  } finally {
    clock.stop();
  }
}

class Run {
  readonly #input: LoopInput;
  readonly #clock: RunDeadline;
  readonly #budget: Budget;
  readonly #conversation: RunMessages;
  readonly #emit: ((event: AgentEvent) => void) | undefined;
  readonly #context: CallContext;
  #steps = 0;
  /** The model wanted more tool calls than are left. */
  #overdrawn = false;

  constructor(input: LoopInput, clock: RunDeadline) {
    const { toolbox, call, onEvent } = input;
    const { parallel = 8, result: text = 100_000 } = input.limits;
    this.#input = input;
    this.#clock = clock;
    this.#budget = new Budget(input.limits);
    this.#conversation = new RunMessages(input.messages);
    this.#emit = onEvent && ((event) => attempt(onEvent, event));
    this.#context = {
      toolbox,
      call,
      results: { text, image: IMAGE },
      parallel,
      signal: clock.signal,
      isStopped: () => this.#isStopped(),
      emit: this.#emit,
    };
  }

  async run(): Promise<RunResult> {
    for (;;) {
      if (this.#input.signal.aborted) throw cancelled();
      const end = this.#obstacle() ?? (await this.#turn());
      if (end !== undefined) return this.#end(end);
    }
  }

  /** Why there is no further request to the model. */
  #obstacle(): RunResult["end"] | undefined {
    if (this.#clock.expired) return "time";
    if (this.#isStopped()) return "prevented";
    return this.#overdrawn ? "calls" : this.#budget.exhausted;
  }

  #isStopped(): boolean {
    return this.#input.mayContinue?.() === false;
  }

  /** One request and the tool calls that come of it. */
  async #turn(): Promise<RunResult["end"] | undefined> {
    const reply = await this.#ask();
    if (typeof reply === "string") return reply;
    this.#budget.said += writeJson(reply.parts).length;
    const { calls, text } = this.#conversation.hear(reply);
    if (text !== "" && !this.#input.deltas) this.#emit?.({ type: "text", text, delta: false });
    if (calls.length === 0) return reply.finish === "length" ? "tokens" : "finished";
    await this.#answer(calls);
    return undefined;
  }

  /** The model's reply, or why there is none that counts. */
  async #ask(): Promise<ModelReply | "time" | "prevented"> {
    const { model, signal } = this.#input;
    this.#budget.turns++;
    this.#emit?.({ type: "step", step: ++this.#steps, kind: "llm" });
    try {
      const asked = model.generate(this.#request(), this.#clock.signal);
      const reply = await race(asked, this.#clock.signal);
      this.#budget.inputTokens += reply.usage.inputTokens;
      this.#budget.outputTokens += reply.usage.outputTokens;
      return reply;
    } catch (thrown) {
      if (signal.aborted) throw cancelled();
      if (this.#clock.expired) return "time";
      if (this.#isStopped()) return "prevented";
      throw thrown;
    }
  }

  #request(): Parameters<Model["generate"]>[0] {
    const { system, toolbox, temperature, mayContinue, deltas } = this.#input;
    const emit = this.#emit;
    return {
      system,
      messages: [...this.#conversation.messages],
      tools: toolbox.tools,
      maxOutputTokens: this.#budget.nextOutput,
      temperature,
      onText: deltas && emit ? (text) => emit({ type: "text", text, delta: true }) : undefined,
      mayRetry: mayContinue,
    };
  }

  async #answer(
    calls: readonly Extract<ChatPart, { readonly type: "tool-call" }>[],
  ): Promise<void> {
    const wanted = countServerCalls(calls, this.#input.toolbox);
    const refusal = this.#refusal(wanted);
    if (refusal === undefined) this.#budget.toolCalls += wanted;
    this.#emit?.({ type: "step", step: ++this.#steps, kind: "tool" });
    this.#conversation.answer(await makeCalls(calls, this.#context, refusal));
  }

  /** Why the tools that the model wants are not run: nobody would look at what they return. */
  #refusal(wanted: number): string | undefined {
    if (this.#isStopped()) return "the agent was stopped.";
    this.#overdrawn = !this.#budget.allows(wanted);
    const end = this.#overdrawn ? "calls" : this.#budget.exhausted;
    return end && `the budget of the run is used up (${end}).`;
  }

  #end(end: RunResult["end"]): RunResult {
    if (end !== "finished" && end !== "prevented")
      this.#conversation.conclude(this.#budget.describe(end));
    const { inputTokens, outputTokens, turns } = this.#budget;
    const { messages, last } = this.#conversation;
    const texts = last.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const usage = { inputTokens, outputTokens };
    return { parts: last, text: texts.join("\n"), messages, end, turns, usage };
  }
}

/** A listener that fails must not disturb the run. */
function attempt(listener: (event: AgentEvent) => void, event: AgentEvent): void {
  try {
    listener(event);
  } catch {
    // The listener looks after its own failures; there is nobody to tell here.
  }
}
