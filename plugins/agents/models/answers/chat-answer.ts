import { isObject } from "propylon/kit";
import { scalarText } from "propylon/internal";
import { reasonIn } from "./provider-words.ts";
import type { AnswerReader } from "./answer-body.ts";
import { CallPieces, TOO_MANY_CALLS } from "./call-pieces.ts";
import { readContent, textIn, type Content } from "./content.ts";
import { countIn } from "./count.ts";
import { isFailure, SaidFailure } from "./said-failure.ts";

/** Reasons after which the last call may miss its arguments. */
const CUT: ReadonlySet<string> = new Set(["length", "content_filter"]);

/** Choices of one event: one was asked for. */
const MAX_CHOICES = 16;

type Fields = Readonly<Record<string, unknown>>;

/** An answer of OpenAI's chat completions, by any server. */
export class ChatAnswer implements AnswerReader {
  readonly isOver = false;
  readonly #calls: CallPieces;
  /** The previous way `tool_calls`. Servers that write both mean the same call. */
  readonly #legacy: CallPieces;
  /** Index of the choice that is read: nobody asked for more than one. */
  #choice: string | undefined;
  /** Whether a choice came, so that others than choices do not matter. */
  #isAnswer = false;
  #other: Fields | undefined;
  #hasDelta = false;
  #isRefusal = false;
  #finish: string | undefined;
  #usage: Fields | undefined;

  /** @param known names of the tools that the model may call */
  constructor(known: () => readonly string[]) {
    this.#calls = new CallPieces(known);
    this.#legacy = new CallPieces(known);
  }

  take(piece: unknown, name: string | undefined): readonly unknown[] {
    if (!isObject(piece)) return [piece];
    if (isFailure(piece["error"])) return [new SaidFailure(piece["error"])];
    this.#count(piece["usage"]);
    const choices = piece["choices"];
    if (!Array.isArray(choices)) return this.#takeOther(piece);
    this.#isAnswer = true;
    const read = choices.slice(0, MAX_CHOICES);
    return read.flatMap((choice: unknown) => this.#take(choice, name === undefined));
  }

  end(isComplete: boolean): readonly unknown[] {
    if (!this.#isAnswer && this.#other) return [this.#other];
    if (this.#finish === "error" || !(isComplete || this.#finish !== undefined)) return [];
    const finish = this.#finish ?? "stop";
    const calls = this.#calls.isEmpty ? this.#legacy : this.#calls;
    const made = calls.finish(CUT.has(finish)).map(({ id, name, args, extra }, index) => ({
      index,
      id,
      type: "function",
      function: { name, arguments: args },
      ...(extra !== undefined && { extra_content: extra }),
    }));
    const reason = this.#isRefusal && finish === "stop" ? "content_filter" : finish;
    return [{ ...chunkOf({ tool_calls: made }, reason), usage: this.#usage }];
  }

  #take(choice: unknown, isWhole: boolean): unknown[] {
    if (!isObject(choice)) return [];
    const index = scalarText(choice["index"]) || "0";
    if ((this.#choice ??= index) !== index) return [];
    if (isFailure(choice["error"])) return [new SaidFailure(choice["error"])];
    this.#count(choice["usage"]);
    this.#finish = scalarText(choice["finish_reason"]) || this.#finish;
    const { delta, message } = choice;
    if (isObject(delta)) {
      this.#hasDelta = true;
      return this.#hear(delta, isWhole);
    }
    // Behind its pieces the message says everything once more.
    return isObject(message) && !this.#hasDelta ? this.#hear(message, true) : [];
  }

  /** No choice: a count, a ping, or the reason of a failure in a shape of its own. */
  #takeOther(piece: Fields): unknown[] {
    this.#other ??= piece;
    return reasonIn(piece) === undefined ? [] : [new SaidFailure(piece)];
  }

  #hear(said: Fields, isWhole: boolean): unknown[] {
    if (said["tool_calls"]) this.#calls.take(said["tool_calls"], isWhole);
    if (said["function_call"]) this.#legacy.take(said["function_call"], isWhole);
    if (this.#calls.isFull || this.#legacy.isFull) return [new SaidFailure(TOO_MANY_CALLS)];
    const content = readContent(said["content"]);
    const refusal = content.refusal + scalarText(said["refusal"]);
    if (refusal !== "") this.#isRefusal = true;
    const reasoning = thoughtIn(said, content);
    const text = content.text + refusal;
    if (text === "" && reasoning === "") return [];
    return [chunkOf({ content: text, ...(reasoning !== "" && { reasoning_content: reasoning }) })];
  }

  #count(usage: unknown): void {
    if (!isObject(usage)) return;
    this.#usage = {
      prompt_tokens: countIn(usage, "prompt_tokens", "input_tokens"),
      completion_tokens: countIn(usage, "completion_tokens", "output_tokens"),
    };
  }
}

function chunkOf(delta: Fields, finish: string | null = null): Fields {
  return { choices: [{ index: 0, delta, finish_reason: finish }] };
}

function thoughtIn(said: Fields, { thought }: Content): string {
  const kept = ["reasoning_content", "reasoning", "reasoning_details"].map((key) => said[key]);
  return kept.map((each) => textIn(each)).find((text) => text !== "") ?? thought;
}
