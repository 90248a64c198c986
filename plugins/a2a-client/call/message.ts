import { boundedRecord, checkShape } from "propylon/kit";
import { randomUUID } from "node:crypto";
import type { Json } from "propylon";
import { describeProblems } from "propylon/internal";
import type { Message, Part } from "propylon/contract";
import { z } from "zod";

const fileSchema = z.strictObject({
  name: z.string().optional().describe("File name."),
  mediaType: z.string().optional().describe("Media type, e.g. image/png."),
  base64: z.base64().optional().describe("The bytes."),
  url: z.url().optional().describe("Where the file is, in place of its bytes."),
});

/** Arguments of every tool of an agent. */
export const argumentsSchema = z.strictObject({
  message: z.string().describe("What to say to the agent."),
  data: boundedRecord(z.string(), z.unknown(), 10_000)
    .optional()
    .describe("Structured data beside the text."),
  files: z.array(fileSchema).max(1_000).optional().describe("Files to hand over."),
  contextId: z.string().min(1).optional().describe("Conversation to go on with, as told before."),
  taskId: z.string().min(1).optional().describe("Task to go on with that asked for more input."),
});

/** Checked arguments of a tool. */
export type Arguments = z.output<typeof argumentsSchema>;

/**
 * Arguments as a message.
 * @throws {WrongArguments} naming the fields that are wrong
 */
export function readArguments(args: Json | undefined): Arguments {
  const checked = checkShape(argumentsSchema, args ?? {});
  if (!checked.success)
    throw new WrongArguments(describeProblems(checked.error.issues, "arguments").join("; "));
  for (const [at, { base64, url }] of (checked.data.files ?? []).entries())
    if ((base64 === undefined) === (url === undefined))
      throw new WrongArguments(`files.${at}: give base64 or url, one of them`);
  return checked.data;
}

/** The arguments of a call are not those of its tool. */
export class WrongArguments extends Error {}

/** The message of a call. It names the skill for agents that tell theirs apart by it. */
export function messageOf({ message, data, files, ...ids }: Arguments, skill: string): Message {
  const parts: Part[] = [{ text: message }];
  if (data) parts.push({ data, mediaType: "application/json" });
  for (const file of files ?? []) parts.push(partOf(file));
  return makeMessage(parts, ids, { skill });
}

/** What a user answered to an agent that asked. */
export function answerTo(task: { id: string; contextId?: string | undefined }, text: string) {
  return makeMessage([{ text }], { taskId: task.id, contextId: task.contextId });
}

function makeMessage(
  parts: Part[],
  { taskId, contextId }: Pick<Arguments, "taskId" | "contextId">,
  metadata?: Json,
): Message {
  return {
    messageId: randomUUID(),
    role: "user",
    parts,
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId }),
    ...(metadata && { metadata }),
  };
}

function partOf({ name, mediaType, base64, url }: z.output<typeof fileSchema>): Part {
  return {
    ...(base64 === undefined ? { url } : { raw: base64 }),
    ...(name !== undefined && { filename: name }),
    ...(mediaType !== undefined && { mediaType }),
  };
}
