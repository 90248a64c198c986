import type {
  AssistantContent,
  JSONValue,
  ModelMessage,
  ToolContent,
  ToolResultPart,
  UserContent,
} from "ai";
import type { ChatMessage, ChatPart } from "../model.ts";

type ToolResult = Extract<ChatPart, { readonly type: "tool-result" }>;
type Shown = ToolResult["parts"][number];
type UserPart = Exclude<UserContent, string>[number];
type AssistantPart = Exclude<AssistantContent, string>[number];
type ProviderOptions = Record<string, Record<string, JSONValue>>;

/** Whether an API takes images inside tool results. OpenAI's takes text only: there they follow in a message of the user. */
export type ImagePlace = "inside" | "behind";

/** The conversation as the `ai` package wants it. */
export function toModelMessages(
  messages: readonly ChatMessage[],
  images: ImagePlace,
): ModelMessage[] {
  return messages.flatMap((message) => toMessages(message, images));
}

function toMessages({ role, parts }: ChatMessage, images: ImagePlace): ModelMessage[] {
  // Providers refuse the whole request for one message or text that is empty; histories have them, since models say nothing at times.
  if (role === "user") return unlessEmpty({ role, content: parts.flatMap(toUserPart) });
  if (role === "assistant")
    return parts.every(({ type }) => type === "reasoning")
      ? []
      : unlessEmpty({ role, content: parts.flatMap(toAssistantPart) });
  const results = parts.filter((part) => part.type === "tool-result");
  const content: ToolContent = results.map((result) => toResult(result, images));
  const shown = images === "behind" ? results.flatMap(imagesBehind) : [];
  return [
    { role: "tool", content },
    ...(shown.length > 0 ? [{ role: "user" as const, content: shown }] : []),
  ];
}

function unlessEmpty(message: ModelMessage): ModelMessage[] {
  return message.content.length === 0 ? [] : [message];
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function toUserPart(part: ChatPart): UserPart[] {
  if (part.type === "text") return isBlank(part.text) ? [] : [{ type: "text", text: part.text }];
  if (part.type === "image") return [toImage(part)];
  return [];
}

/** As bytes, never as text: the package takes a text that looks like a URL for one, and would fetch it. */
function toImage(part: Extract<ChatPart, { readonly type: "image" }>): UserPart {
  return { type: "image", image: Buffer.from(part.data, "base64"), mediaType: part.mimeType };
}

function toAssistantPart(part: ChatPart): AssistantPart[] {
  if (part.type === "text")
    return isBlank(part.text)
      ? []
      : [{ type: "text", text: part.text, ...optionsOf(part.provider) }];
  if (part.type === "reasoning")
    return part.text === "" && part.provider === undefined
      ? []
      : [{ type: "reasoning", text: part.text, ...optionsOf(part.provider) }];
  if (part.type !== "tool-call") return [];
  const { id, name, args, provider } = part;
  return [
    { type: "tool-call", toolCallId: id, toolName: name, input: args, ...optionsOf(provider) },
  ];
}

/**
 * What a provider wants to see again. The package writes the signature of a thought under the provider's name in the config and reads
 * it under `google` alone; Gemini refuses a call that comes back without it.
 */
function optionsOf(provider: Readonly<Record<string, unknown>> | undefined): {
  providerOptions?: ProviderOptions;
} {
  if (provider === undefined) return {};
  const options = provider as ProviderOptions;
  const signed = Object.values(options).find((said) => said["thoughtSignature"] !== undefined);
  return { providerOptions: signed ? { google: signed, ...options } : options };
}

function toResult(result: ToolResult, images: ImagePlace): ToolResultPart {
  const head = { type: "tool-result" as const, toolCallId: result.id, toolName: result.name };
  if (images === "inside" && result.parts.some(({ type }) => type === "image"))
    return { ...head, output: { type: "content", value: result.parts.map(toContent) } };
  const value = result.parts.map((part) => wordsFor(part)).join("\n");
  return { ...head, output: { type: result.isError ? "error-text" : "text", value } };
}

function toContent(
  part: Shown,
): { type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string } {
  return part.type === "text"
    ? { type: "text", text: part.text }
    : { type: "image-data", data: part.data, mediaType: part.mimeType };
}

function wordsFor(part: Shown): string {
  return part.type === "text" ? part.text : `[${part.mimeType}: shown in the next message]`;
}

function imagesBehind({ name, parts }: ToolResult): UserPart[] {
  const images = parts.filter((part) => part.type === "image");
  if (images.length === 0) return [];
  return [{ type: "text", text: `Images that ${name} returned:` }, ...images.map(toImage)];
}
