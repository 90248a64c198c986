import { writeJson } from "propylon/kit";
import type { ChatMessage, ChatPart } from "propylon/plugins/agents";

/** Characters per token: what models of all makers come near to. */
const CHARACTERS = 4;
/** What an image costs, about, in tokens. */
const IMAGE = 1_000;
/** Maximum characters of one tool result in a transcript: what matters of it was said afterwards. */
const RESULT = 2_000;

/** Tokens of a conversation, estimated: each maker counts in another way, and none does without its own library. */
export function estimateTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0);
}

/** Tokens of one message, estimated. */
export function tokensOf({ parts }: ChatMessage): number {
  return Math.ceil(parts.reduce((sum, part) => sum + charactersOf(part), 0) / CHARACTERS);
}

function charactersOf(part: ChatPart): number {
  if (part.type === "text" || part.type === "reasoning") return part.text.length;
  if (part.type === "image") return IMAGE * CHARACTERS;
  if (part.type === "tool-call") return part.name.length + JSON.stringify(part.args).length;
  return part.parts.reduce((sum, inner) => sum + charactersOf(inner), part.name.length);
}

/** A conversation as text, for a model that is to summarise it. */
export function writeTranscript(messages: readonly ChatMessage[]): string {
  return messages
    .flatMap(({ role, parts }) =>
      parts.filter(({ type }) => type !== "reasoning").map((part) => `${role}: ${wordsOf(part)}`),
    )
    .join("\n\n");
}

function wordsOf(part: ChatPart): string {
  if (part.type === "text" || part.type === "reasoning") return part.text;
  if (part.type === "image") return `[${part.mimeType}]`;
  if (part.type === "tool-call") return `[calls ${part.name} with ${writeJson(part.args)}]`;
  const text = part.parts.map(wordsOf).join("\n");
  const shown = text.length > RESULT ? `${text.slice(0, RESULT)} [...]` : text;
  return `[${part.name} answered${part.isError ? " with an error" : ""}: ${shown}]`;
}
