import type { LanguageModel, ToolSet } from "ai";
import type { ModelReply, ModelRequest } from "../model.ts";
import { toModelMessages, type ImagePlace } from "./conversation.ts";
import type { ModelSdk } from "./provider.ts";
import { ReplyParts } from "./reply.ts";

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
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema) }),
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
  const reply = new ReplyParts();
  for await (const part of result.fullStream) {
    if (part.type === "text-delta" && part.text !== "") {
      reply.text(part.text, part.providerMetadata);
      onText?.(part.text);
    } else if (part.type === "tool-call") reply.call(part);
    else if (part.type === "error") throw part.error;
    else if (part.type === "abort") signal.throwIfAborted();
    else if (part.type === "finish") {
      if (part.rawFinishReason === undefined) throw new TruncatedAnswer();
      return reply.finish(part.finishReason, part.totalUsage, () => sizeOf(request));
    }
  }
  throw new TruncatedAnswer();
}

function ignore(): void {}

/** Characters of a request, images aside. */
function sizeOf({ system, messages, tools }: ModelRequest): number {
  const texts = JSON.stringify([messages, tools], (key, value: unknown) =>
    key === "data" ? undefined : value,
  );
  return system.length + texts.length;
}
