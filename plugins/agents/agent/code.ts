import type { AgentEvent } from "propylon/plugins/progress";
import { GatewayError, toGatewayError, type Json } from "propylon";
import type { Driver } from "./agent.ts";
import { imagesOf, chatText } from "./conversation.ts";
import type { AgentCode, AgentRun, ImagePart, ToolOutcome } from "../define.ts";
import { RunDeadline } from "../loop/deadline.ts";
import { Budget, type Exhausted, type RunLimits } from "../loop/limits.ts";
import { cancelled, race } from "../loop/race.ts";
import type { ChatMessage, Model, ChatPart } from "../model.ts";
import { chatPartsOf } from "./remote.ts";
import type { RunOptions, RunResult } from "../service.ts";
import type { AgentTools } from "./agent-tools.ts";
import { relayedFrom } from "../relayed.ts";

/** What the runs of an agent written in TypeScript need. */
export interface CodeParts {
  readonly name: string;
  readonly code: AgentCode;
  readonly tools: AgentTools;
  readonly limits: RunLimits & { readonly time: number };
  /**
   * The model of that id, or the agent's own.
   * @throws {GatewayError} `invalid` when there is none
   */
  model(id: string | undefined): Model;
}

/** An agent written in TypeScript, within the same budgets as one that a model drives. */
export class CodeDriver implements Driver {
  readonly #parts: CodeParts;

  constructor(parts: CodeParts) {
    this.#parts = parts;
  }

  async run(
    messages: readonly ChatMessage[],
    options: RunOptions,
    via: readonly string[],
  ): Promise<RunResult> {
    const { code, limits } = this.#parts;
    const clock = new RunDeadline(options.signal, limits.time);
    const run = new CodeRun(this.#parts, messages, { ...options, signal: clock.signal }, via);
    try {
      const work = Promise.resolve().then(() => code.run(run));
      // Raced: code that does not watch its signal must not outlive it.
      const said = await race(work, clock.signal);
      return run.finish(typeof said === "string" ? [{ type: "text", text: said }] : said);
    } catch (error) {
      if (options.signal.aborted) throw cancelled();
      if (clock.expired) return run.finish([], "time");
      if (run.ended !== undefined) return run.finish([], run.ended);
      throw error;
    } finally {
      clock.stop();
    }
  }
}

/** One run: what the code is handed, and what it has used. */
class CodeRun implements AgentRun {
  readonly message: string;
  readonly images: readonly ImagePart[];
  readonly history: readonly ChatMessage[];
  readonly signal: AbortSignal;
  /** What stopped it before it was done. */
  ended: Exhausted | "prevented" | undefined;
  readonly #parts: CodeParts;
  readonly #messages: readonly ChatMessage[];
  readonly #options: RunOptions;
  readonly #via: readonly string[];
  readonly #budget: Budget;
  #steps = 0;

  constructor(
    parts: CodeParts,
    messages: readonly ChatMessage[],
    options: RunOptions,
    via: readonly string[],
  ) {
    const last = messages.at(-1)?.parts ?? [];
    this.message = chatText(last);
    this.images = imagesOf(last);
    this.history = messages.slice(0, -1);
    this.signal = options.signal;
    this.#parts = parts;
    this.#messages = messages;
    this.#options = options;
    this.#via = via;
    this.#budget = new Budget(parts.limits);
  }

  // Fields, so that code may take them out of the run.
  readonly ask: AgentRun["ask"] = async (prompt, { model, system = "" } = {}) => {
    const chosen = this.#parts.model(model);
    this.#mayGoOn();
    this.#budget.turns++;
    this.#tell({ type: "step", step: ++this.#steps, kind: "llm" });
    const messages: readonly ChatMessage[] =
      typeof prompt === "string"
        ? [{ role: "user", parts: [{ type: "text", text: prompt }] }]
        : prompt;
    const extra = this.#options.instructions;
    const request = {
      system: extra === undefined ? system : `${system}\n\n${extra}`.trim(),
      messages,
      tools: [],
      maxOutputTokens: this.#budget.nextOutput,
      mayRetry: () => this.#options.mayContinue?.() ?? true,
    };
    const { parts, usage } = await chosen.generate(request, this.signal);
    this.#budget.inputTokens += usage.inputTokens;
    this.#budget.outputTokens += usage.outputTokens;
    return chatText(parts);
  };

  readonly call: AgentRun["call"] = async (server, tool, args = {}) => {
    if (!this.#budget.allows(1)) throw this.#stop("calls");
    this.#budget.toolCalls++;
    const source = { server, tool };
    this.#tell({ type: "tool", ...source, state: "started" });
    try {
      const outcome = await this.#fetch(server, tool, args);
      this.#tell({ type: "tool", ...source, state: "completed" });
      return outcome;
    } catch (error) {
      const { message } = toGatewayError(error);
      this.#tell({ type: "tool", ...source, state: "failed", message });
      throw error;
    }
  };

  readonly progress: AgentRun["progress"] = (message) => {
    const { name } = this.#parts;
    this.#tell({ type: "relayed", server: name, tool: name, message });
  };

  /** What the run came to. */
  finish(parts: readonly ChatPart[], end?: Exhausted | "prevented"): RunResult {
    const said: readonly ChatPart[] =
      end === undefined || end === "prevented"
        ? parts
        : [...parts, { type: "text", text: this.#budget.describe(end) }];
    const { turns, inputTokens, outputTokens } = this.#budget;
    return {
      parts: said,
      text: chatText(said),
      messages: [...this.#messages, { role: "assistant", parts: said }],
      end: end ?? "finished",
      turns,
      usage: { inputTokens, outputTokens },
    };
  }

  async #fetch(server: string, tool: string, args: Json): Promise<ToolOutcome> {
    const answer = await this.#parts.tools.call({
      server,
      tool,
      args,
      signal: this.signal,
      via: this.#via,
      meta: this.#options.meta,
      peer: this.#options.peer,
      progress:
        this.#options.onEvent && ((report) => this.#tell(relayedFrom(server, tool, report))),
    });
    const parts = chatPartsOf(answer, `${server}/${tool}`);
    const data = answer.result?.["structuredContent"] as Json | undefined;
    return { text: chatText(parts), images: imagesOf(parts), data };
  }

  /** Before every request to a model. */
  #mayGoOn(): void {
    if (this.#options.mayContinue?.() === false) throw this.#stop("prevented");
    const { exhausted } = this.#budget;
    if (exhausted) throw this.#stop(exhausted);
  }

  #stop(end: Exhausted | "prevented"): GatewayError {
    this.ended = end;
    return new GatewayError(
      "upstream_error",
      end === "prevented" ? "The run was stopped." : this.#budget.describe(end),
    );
  }

  #tell(event: AgentEvent): void {
    this.#options.onEvent?.(event);
  }
}
