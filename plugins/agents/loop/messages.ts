import { UniqueNames } from "propylon/kit";
import type { ChatMessage, ModelReply, ChatPart } from "../model.ts";

type ToolCall = Extract<ChatPart, { readonly type: "tool-call" }>;
type ToolResult = Extract<ChatPart, { readonly type: "tool-result" }>;

/** The messages of one run. Belongs to it alone: nothing of it is kept for the next. */
export class RunMessages {
  readonly #messages: ChatMessage[];
  readonly #ids: UniqueNames;
  #last: readonly ChatPart[] = [];

  constructor(messages: readonly ChatMessage[]) {
    this.#messages = [...messages];
    this.#ids = new UniqueNames(messages.flatMap(callIds));
  }

  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /** What the model said last, without its tool calls. */
  get last(): readonly ChatPart[] {
    return this.#last;
  }

  /** Takes what the model said; some models give calls no id, or the same id again. */
  hear({ parts, finish }: ModelReply): { calls: readonly ToolCall[]; text: string } {
    const said = parts
      .filter(({ type }) => type !== "tool-result")
      .map((part) =>
        part.type === "tool-call" ? { ...part, id: this.#ids.take(part.id || "call") } : part,
      );
    const isSilent = said.every(({ type }) => type === "reasoning");
    if (isSilent && finish === "refused")
      said.push({ type: "text", text: "[The model refused to answer.]" });
    else if (isSilent && said.length > 0)
      said.push({ type: "text", text: "[The model thought, and gave no answer.]" });
    if (said.length > 0) this.#messages.push({ role: "assistant", parts: said });
    this.#last = said.filter(({ type }) => type !== "tool-call" && type !== "reasoning");
    return { calls: said.filter((part) => part.type === "tool-call"), text: textOf(said) };
  }

  /** Takes the results of the calls heard last. */
  answer(results: readonly ToolResult[]): void {
    this.#messages.push({ role: "tool", parts: results });
  }

  /** Lets the agent say a last word. */
  conclude(text: string): void {
    const note = { type: "text" as const, text };
    const before = this.#messages.at(-1);
    if (before?.role === "assistant") {
      this.#messages[this.#messages.length - 1] = { ...before, parts: [...before.parts, note] };
    } else this.#messages.push({ role: "assistant", parts: [note] });
    this.#last = [...this.#last, note];
  }
}

function callIds({ parts }: ChatMessage): string[] {
  return parts.flatMap((part) => (part.type === "tool-call" ? [part.id] : []));
}

function textOf(parts: readonly ChatPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
