import type { LanguageModel, ProviderMetadata, TextStreamPart, ToolSet } from "ai";
import type { ModelReply, ModelRequest } from "../model.ts";
import { toModelMessages, type ImagePlace } from "./conversation.ts";
import type { ModelSdk } from "./provider.ts";
import { ReplyParts, type SdkCall } from "./reply.ts";
import { ThoughtCut } from "./thought-cut.ts";
import { fitSchema } from "./tool-schema.ts";

/** An answer that stopped before it said that it was complete. */
export class TruncatedAnswer extends Error {
  override readonly name = "TruncatedAnswer";
}

/** What one request is made with. */
export interface ModelAccess {
  readonly sdk: ModelSdk;
  readonly language: LanguageModel;
  readonly images: ImagePlace;
}

function settingsOf(
  { sdk, language, images }: ModelAccess,
  request: ModelRequest,
  signal: AbortSignal,
) {
  const { system, messages, maxOutputTokens, temperature } = request;
  return {
    model: language,
    ...(system !== "" && { system }),
    messages: toModelMessages(messages, images),
    ...(request.tools.length > 0 && { tools: toTools(sdk, request) }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    // Retries are ours: they honour stop, and never repeat what was already shown.
    maxRetries: 0,
    abortSignal: signal,
  };
}

/** Tools without `execute`: the package then takes one step and calls nothing. */
function toTools({ jsonSchema, tool }: ModelSdk, { tools }: ModelRequest): ToolSet {
  return Object.fromEntries(
    tools.map((each) => [
      each.name,
      tool({ description: each.description, inputSchema: jsonSchema(fitSchema(each).schema) }),
    ]),
  );
}

/**
 * Asks, and passes text on while it is written. Nobody may be listening: the answer is streamed all the same, because the package
 * looks tool calls of a whole answer up by their ids, and ran the first of two calls with one id twice and the second never.
 */
export async function takeStep(
  step: ModelAccess,
  request: ModelRequest,
  signal: AbortSignal,
  onText: ((delta: string) => void) | undefined,
): Promise<ModelReply> {
  const settings = settingsOf(step, request, signal);
  // Without a listener the package writes errors, requests and all, to the console.
  const result = step.sdk.streamText({ ...settings, onError: ignore });
  const answer = new StreamedAnswer(request, onText);
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "abort") signal.throwIfAborted();
    const reply = answer.take(part);
    if (reply) return reply;
  }
  throw new TruncatedAnswer();
}

type StreamPart = TextStreamPart<ToolSet>;

/** An answer while it comes. */
class StreamedAnswer {
  readonly #request: ModelRequest;
  readonly #onText: ((delta: string) => void) | undefined;
  readonly #reply = new ReplyParts();
  readonly #cut = new ThoughtCut();

  constructor(request: ModelRequest, onText: ((delta: string) => void) | undefined) {
    this.#request = request;
    this.#onText = onText;
  }

  /** @returns the whole reply, with its last part */
  take(part: StreamPart): ModelReply | undefined {
    if (part.type === "text-delta") this.#say(this.#cut.push(part.text), part.providerMetadata);
    else if (part.type === "reasoning-delta" || part.type === "reasoning-end")
      this.#reply.reasoning("text" in part ? part.text : "", part.providerMetadata);
    else if (part.type === "tool-input-start") this.#reply.beginInput(part.id);
    else if (part.type === "tool-input-delta") this.#reply.input(part.id, part.delta);
    else if (part.type === "tool-call") this.#call(part);
    else if (part.type === "finish") return this.#finish(part);
    return undefined;
  }

  #say(text: string, provider?: ProviderMetadata): void {
    if (text === "") return;
    this.#reply.text(text, provider);
    this.#onText?.(text);
  }

  #call(call: SdkCall): void {
    const tool = this.#request.tools.find(({ name }) => name === call.toolName);
    this.#reply.call(call, tool && fitSchema(tool).restore);
  }

  #finish(part: Extract<StreamPart, { readonly type: "finish" }>): ModelReply {
    if (part.rawFinishReason === undefined) throw new TruncatedAnswer();
    this.#say(this.#cut.end());
    if (this.#cut.hasThought && this.#reply.parts.length === 0) this.#reply.reasoning("");
    return this.#reply.finish(part.finishReason, part.totalUsage, () => sizeOf(this.#request));
  }
}

function ignore(): void {}

/** Characters of a request, images aside. */
function sizeOf({ system, messages, tools }: ModelRequest): number {
  const texts = JSON.stringify([messages, tools], (key, value: unknown) =>
    key === "data" ? undefined : value,
  );
  return system.length + texts.length;
}
