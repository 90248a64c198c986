import { GatewayError } from "propylon";
import { writeJson } from "propylon/kit";
import { textOf, type Message, type Part } from "propylon/contract";
import type { ChatMessage as AgentMessage, ChatPart as AgentPart } from "propylon/plugins/agents";

/** Types of images that models take. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/**
 * Parts of a message as an agent is told them. A URL is only named: fetching what a stranger names is how servers are led astray.
 *
 * @throws {GatewayError} `invalid` for files that the agent cannot take
 */
export function toAgent(parts: readonly Part[], hasVision: boolean): readonly AgentPart[] {
  return parts.map((part) => {
    const { text, data, raw, url, filename } = part;
    if (text !== undefined) return { type: "text", text };
    if (raw !== undefined) return toFile(part, raw, hasVision);
    if (url !== undefined)
      return { type: "text", text: `[File${filename ? ` ${filename}` : ""}: ${url}]` };
    return { type: "text", text: writeJson(data) };
  });
}

function toFile({ mediaType = "", filename }: Part, raw: string, hasVision: boolean): AgentPart {
  if (IMAGES.includes(mediaType)) {
    if (hasVision) return { type: "image", mimeType: mediaType, data: raw };
    throw new GatewayError("invalid", "This agent does not understand images.", {
      hint: "Describe them in the message.",
    });
  }
  if (!/^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml)\b)/.test(mediaType))
    throw new GatewayError(
      "invalid",
      `This agent does not accept files of type ${mediaType || "unknown"}.`,
    );
  const text = Buffer.from(raw, "base64").toString("utf8");
  return { type: "text", text: `[File${filename ? ` ${filename}` : ""}:]\n${text}` };
}

/** What an agent said last as parts of an artifact. */
export function fromAgent(parts: readonly AgentPart[]): readonly Part[] {
  return parts.flatMap((part): Part[] => {
    if (part.type === "text") return [{ text: part.text }];
    return part.type === "image" ? [{ raw: part.data, mediaType: part.mimeType }] : [];
  });
}

/** What was said in a task before, as far as the task itself knows. */
export function historyOf(history: readonly Message[]): readonly AgentMessage[] {
  return history.map(({ role, parts }) => ({
    role: role === "user" ? "user" : "assistant",
    parts: [{ type: "text", text: textOf(parts) }],
  }));
}
