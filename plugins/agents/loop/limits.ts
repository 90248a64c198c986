/** Bounds of one run. An absent one does not bound. */
export interface RunLimits {
  /** Maximum requests to the model, retries not counted. */
  readonly turns?: number | undefined;
  /** Maximum tool calls. */
  readonly toolCalls?: number | undefined;
  /** Maximum tokens, read and written together; checked before each request, so that one answer may go beyond. */
  readonly tokens?: number | undefined;
  /** Longest run in milliseconds; ends requests in flight. */
  readonly time?: number | undefined;
  /** Maximum tokens that the model may write in one answer. */
  readonly outputTokens?: number | undefined;
  /** Maximum tool calls at once; default 8. */
  readonly parallel?: number | undefined;
  /** Maximum characters of one tool result that the model is shown; default 100,000. */
  readonly result?: number | undefined;
}

/** Which bound of {@link RunLimits} ended a run. */
export type Exhausted = "turns" | "calls" | "tokens" | "time";

/**
 * Characters that a model may say in one run, more than any model reads: all of them go out again with every request, and an endpoint
 * may say that none of it costs a token.
 */
const MAX_SAID = 8_000_000;

/** What one run has used of its {@link RunLimits}. */
export class Budget {
  readonly #limits: RunLimits;
  turns = 0;
  toolCalls = 0;
  inputTokens = 0;
  outputTokens = 0;
  /** Characters of the model, its thoughts and arguments included. */
  said = 0;

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  get tokens(): number {
    return this.inputTokens + this.outputTokens;
  }

  /** What stands against another request to the model. */
  get exhausted(): Exhausted | undefined {
    const { turns, tokens } = this.#limits;
    if (turns !== undefined && this.turns >= turns) return "turns";
    const isTooLong = this.said > MAX_SAID;
    if (isTooLong || (tokens !== undefined && this.tokens >= tokens)) return "tokens";
    return undefined;
  }

  /** Maximum tokens that the next answer may have: its own bound, and what is left of all. */
  get nextOutput(): number | undefined {
    const { outputTokens, tokens } = this.#limits;
    const left = tokens === undefined ? undefined : tokens - this.tokens;
    if (outputTokens === undefined || left === undefined) return outputTokens ?? left;
    return Math.min(outputTokens, left);
  }

  /** Whether that many further tool calls may be made. */
  allows(calls: number): boolean {
    const { toolCalls } = this.#limits;
    return toolCalls === undefined || this.toolCalls + calls <= toolCalls;
  }

  /** What the agent says when a bound ended its run. */
  describe(end: Exhausted): string {
    const { turns, toolCalls, tokens, time } = this.#limits;
    const bound = {
      turns: `${turns} model requests`,
      calls: `${toolCalls} tool calls`,
      tokens: tokens !== undefined && this.tokens >= tokens ? `${tokens} tokens` : this.#output(),
      time: `${(time ?? 0) / 1_000} seconds`,
    };
    return `[Stopped before the task was done: the budget of ${bound[end]} is used up.]`;
  }

  #output(): string {
    if (this.said > MAX_SAID) return `${MAX_SAID.toLocaleString("en")} characters for one run`;
    const { outputTokens } = this.#limits;
    return outputTokens === undefined
      ? "tokens that the model has for one answer"
      : `${outputTokens} tokens for one answer`;
  }
}
