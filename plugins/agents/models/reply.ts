import type { Json } from "propylon";
import { isObject, parseExact } from "propylon/kit";
import type { FinishReason, LanguageModelUsage, ProviderMetadata } from "ai";
import type { ModelReply, ChatPart } from "../model.ts";

/** A tool call as the `ai` package reports it. */
export interface SdkCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** Collects what a model answers, whole or in pieces. */
export class ReplyParts {
  readonly parts: ChatPart[] = [];
  /** The arguments of calls as the model wrote them, by the calls' ids. */
  readonly #inputs = new Map<string, string>();

  /** A whole text, or the next piece of the text before it. */
  text(text: string, provider?: ProviderMetadata): void {
    const last = this.parts.at(-1);
    if (last?.type === "text")
      this.parts[this.parts.length - 1] = { ...last, text: last.text + text };
    else this.parts.push({ type: "text", text, ...(provider && { provider }) });
  }

  /** A whole thought, or the next piece of the one just before it; its signature comes with the last. */
  reasoning(text: string, provider?: ProviderMetadata): void {
    const last = this.parts.at(-1);
    const signed = provider && { provider };
    if (last?.type === "reasoning")
      this.parts[this.parts.length - 1] = { ...last, text: last.text + text, ...signed };
    else this.parts.push({ type: "reasoning", text, ...signed });
  }

  beginInput(id: string): void {
    this.#inputs.set(id, "");
  }

  input(id: string, delta: string): void {
    this.#inputs.set(id, (this.#inputs.get(id) ?? "") + delta);
  }

  /** @param restore gives arguments the keys that the tool has for them */
  call(
    { toolCallId, toolName, input: read, providerMetadata }: SdkCall,
    restore: ((args: Json) => Json) | undefined,
  ): void {
    const input = withDigits(read, this.#inputs.get(toolCallId));
    const head = { type: "tool-call" as const, id: toolCallId, name: toolName };
    const provider = providerMetadata && { provider: providerMetadata };
    this.parts.push(
      isObject(input)
        ? { ...head, args: restore?.(input) ?? input, ...provider }
        : { ...head, args: {}, invalid: describeArguments(input), ...provider },
    );
  }

  /**
   * The whole reply.
   * @param asked characters of the request, to guess its tokens by where the provider does not count them
   */
  finish(reason: FinishReason, usage: LanguageModelUsage, asked: () => number): ModelReply {
    const parts = this.parts.filter((part) => part.type !== "text" || part.text !== "");
    const calls = parts.some(({ type }) => type === "tool-call");
    return {
      parts,
      usage: {
        inputTokens: usage.inputTokens || guessTokens(asked()),
        outputTokens: usage.outputTokens || guessTokens(JSON.stringify(parts).length),
      },
      finish: calls ? "tool-calls" : (FINISH[reason] ?? "stop"),
    };
  }
}

const FINISH: Partial<Record<FinishReason, ModelReply["finish"]>> = {
  length: "length",
  "content-filter": "refused",
};

/** Four characters are about one token. A guess, so that a provider that counts nothing cannot spend without bound. */
function guessTokens(characters: number): number {
  return Math.ceil(characters / 4);
}

/** The package reads arguments with JavaScript's numbers, and an identifier of 64 bits would be that of something else. */
function withDigits(read: unknown, written: string | undefined): unknown {
  if (!isObject(read) || written === undefined) return read;
  try {
    // Two calls with one id may have their pieces mixed.
    const isSame = JSON.stringify(JSON.parse(written)) === JSON.stringify(read);
    return isSame ? parseExact(written) : read;
  } catch {
    return read;
  }
}

function describeArguments(input: unknown): string {
  const kind = typeof input === "string" ? "invalid JSON" : "not a JSON object";
  return `The arguments are ${kind}.`;
}
