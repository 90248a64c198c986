import { checkShape } from "propylon/kit";
import { GatewayError, type Json } from "propylon";
import { describeProblems } from "propylon/internal";
import { z } from "zod";
import type { ChatMessage, ChatPart } from "../model.ts";

/** Types of images that models take. */
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

const requestSchema = z.strictObject({
  message: z.string().min(1),
  history: z
    .array(z.strictObject({ role: z.enum(["user", "assistant"]), content: z.string() }))
    .max(1_000)
    .default([]),
  images: z
    .array(
      z.strictObject({
        data: z.base64().min(1),
        mimeType: z.enum(IMAGE_TYPES),
      }),
    )
    .max(1_000)
    .default([]),
});

const TEXT = { type: "string" };

const HISTORY = {
  type: "array",
  description: "What was said before, oldest first. Nothing is remembered between calls.",
  items: {
    type: "object",
    properties: { role: { type: "string", enum: ["user", "assistant"] }, content: TEXT },
    required: ["role", "content"],
  },
};

const IMAGES = {
  type: "array",
  description: "Images that belong to the message, as base64.",
  items: {
    type: "object",
    properties: { data: TEXT, mimeType: { type: "string", enum: [...IMAGE_TYPES] } },
    required: ["data", "mimeType"],
  },
};

/** JSON Schema of what an agent's tool takes. */
export function inputSchema(hasVision: boolean): Json {
  return {
    type: "object",
    properties: {
      message: { type: "string", description: "What the agent is asked or told to do." },
      history: HISTORY,
      ...(hasVision && { images: IMAGES }),
    },
    required: ["message"],
    additionalProperties: false,
  };
}

/**
 * The conversation that the arguments of a call make.
 * @throws {GatewayError} `invalid` for arguments of another shape, and for images where the agent understands none
 */
export function toConversation(agent: string, hasVision: boolean, args: Json = {}): ChatMessage[] {
  const read = checkShape(requestSchema, args);
  if (!read.success) throw wrongArguments(agent, read.error.issues);
  const { message, history, images } = read.data;
  if (images.length > 0 && !hasVision)
    throw new GatewayError("invalid", `The agent "${agent}" does not understand images.`, {
      hint: "Describe them in the message, or ask an agent with capabilities.vision.",
    });
  return [
    ...history.map(({ role, content }) => ({
      role,
      parts: [{ type: "text" as const, text: content }],
    })),
    {
      role: "user",
      parts: [
        { type: "text", text: message },
        ...images.map((image) => ({ type: "image" as const, ...image })),
      ],
    },
  ];
}

function wrongArguments(agent: string, issues: readonly z.core.$ZodIssue[]): GatewayError {
  const problems = describeProblems(issues, "arguments");
  return new GatewayError(
    "invalid",
    `The agent "${agent}" cannot read this: ${problems.join("; ")}.`,
    {
      hint: 'Send { "message": "..." }.',
    },
  );
}

/** Parts as content blocks of a tool result (MCP `tools/call`). */
export function toContent(parts: readonly ChatPart[]): Json[] {
  return parts.flatMap((part): Json[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type === "image") return [{ type: "image", data: part.data, mimeType: part.mimeType }];
    return [];
  });
}

/** The texts of parts, joined by line breaks. */
export function chatText(parts: readonly ChatPart[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The images among parts. */
export function imagesOf(
  parts: readonly ChatPart[],
): Extract<ChatPart, { readonly type: "image" }>[] {
  return parts.filter((part) => part.type === "image");
}
