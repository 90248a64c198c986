import { boundedRecord } from "propylon/kit";
import { z } from "zod";

/** Deepest nesting of what is sent and read, as at the MCP endpoints: whatever walks it recurses. */
export const MAX_DEPTH = 64;

/**
 * Header of a message that answers a task which waits, by a sender that knows: a runtime that has nothing of such a task fails it,
 * since the answer alone ("no") means something else without the question.
 */
export const CONTINUES_HEADER = "a2a-task-continues";

/** Parts of a message, an artifact or its history, and members of what a sender adds: a list without an end holds up everybody else. */
export const MAX_PARTS = 10_000;

/** Anything a sender may add; kept and handed back, never interpreted unless a key is documented. */
const metadata = boundedRecord(z.string(), z.unknown(), MAX_PARTS);

/**
 * One piece of a message or artifact, told apart by the member it has: `text`, `data` (any JSON), `raw` (base64 bytes) or `url`.
 * The contract's own samples have only `text`; the rest is that of A2A 1.0. Members that are not known are kept.
 */
export const partSchema = z.looseObject({
  text: z.string().optional(),
  data: z.unknown().optional(),
  raw: z.string().optional(),
  url: z.string().optional(),
  /** Media type, e.g. `text/markdown`. */
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  metadata: metadata.optional(),
});

/** A message of the contract. Both ids may be missing: the runtime makes one up then. */
export const messageSchema = z.looseObject({
  messageId: z.string().optional(),
  role: z.enum(["user", "agent"]),
  parts: z.array(partSchema).max(MAX_PARTS),
  /** Task that the message belongs to; the caller of contract v1 chooses it. */
  taskId: z.string().optional(),
  /** Conversation over several tasks. */
  contextId: z.string().optional(),
  referenceTaskIds: z.array(z.string()).max(1_000).optional(),
  metadata: metadata.optional(),
});

/** Body of `POST /` (send-message-request.schema.json). */
export const sendMessageRequestSchema = z.looseObject({
  message: messageSchema,
  configuration: z.looseObject({}).optional(),
  metadata: metadata.optional(),
});

/** One piece of a message or artifact; exactly one of `text`, `data`, `raw` and `url` is set. */
export type Part = Readonly<z.output<typeof partSchema>>;
/** Something said by the user or the agent. */
export type Message = Readonly<z.output<typeof messageSchema>>;
/** Body of `POST /`. */
export type SendMessageRequest = Readonly<z.output<typeof sendMessageRequestSchema>>;

/** The texts of some parts, one per line; `""` when there is none. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .map(({ text }) => text)
    .filter((text) => text !== undefined)
    .join("\n");
}
