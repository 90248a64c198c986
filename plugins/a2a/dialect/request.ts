import { randomUUID } from "node:crypto";
import { MIMEType } from "node:util";
import { GatewayError, type Json } from "propylon";
import { checkShape, isObject, parseJson } from "propylon/kit";
import { describeProblems, toProblems } from "propylon/internal";
import { sendMessageRequestSchema, type Message } from "propylon/contract";
import { MAX_ID, type PostRequest } from "../post.ts";

/** Members that count as missing when they are null or empty, as other languages write what they have not. */
const OPTIONAL = new Set([
  "messageId",
  "taskId",
  "contextId",
  "parts",
  "metadata",
  "referenceTaskIds",
]);

/** A message of contract v1 and the id of its task. */
export interface Envelope {
  /** Id of its task: chosen by the client, or made up. */
  readonly id: string;
  readonly message: Message;
  readonly metadata: Json | undefined;
}

/**
 * The JSON object in the body of a `POST`.
 *
 * @throws {GatewayError} `unsupported_media_type`, `bad_request` for anything but a JSON object, `too_large`
 */
export async function readJsonObject(post: PostRequest): Promise<Json> {
  if (!isUtf8Json(post.headers.get("content-type") ?? null))
    throw new GatewayError("unsupported_media_type", "The body must be JSON in UTF-8.", {
      hint: "Send content-type: application/json.",
    });
  const value = parseJson(await post.read(), post.maxDepth);
  if (isObject(value)) return value;
  throw new GatewayError("bad_request", "The body must be one JSON object.", {
    hint: 'Send {"message": {...}} (contract v1) or {"jsonrpc": "2.0", ...} (A2A 1.0).',
  });
}

/** Whether a content type is that of JSON, however it is spelled (RFC 9110 section 8.3.1): JSON is UTF-8 (RFC 8259 section 8.1). */
export function isUtf8Json(type: string | null): boolean {
  if (type === "application/json") return true;
  if (type === null || type.includes(",")) return false;
  try {
    const { essence, params } = new MIMEType(type);
    const charset = params.get("charset")?.toLowerCase() ?? "utf-8";
    return essence === "application/json" && ["utf-8", "utf8", "us-ascii"].includes(charset);
  } catch {
    return false;
  }
}

/**
 * The message in a body. Members that nobody knows are kept; a message without parts has none.
 *
 * @throws {GatewayError} `bad_request` that names each wrong member: contract v1 has no 422
 */
export function readEnvelope(body: Json): Envelope {
  const checked = checkShape(sendMessageRequestSchema, { ...body, message: withParts(body) });
  if (!checked.success) throw wrongShape(checked.error.issues);
  const { message, metadata } = checked.data;
  const { taskId = "", messageId = "" } = message;
  const id = taskId || messageId || `anonymous-${randomUUID()}`;
  if (Math.max(id.length, messageId.length, message.contextId?.length ?? 0) > MAX_ID)
    throw new GatewayError("bad_request", `An id is longer than ${MAX_ID} characters.`, {
      hint: "Choose a shorter one.",
    });
  return { id, metadata, message: { ...message, taskId: id } };
}

/** What is empty or null is missing, and so is an empty list of parts. */
function withParts({ message }: Json): unknown {
  if (!isObject(message)) return message;
  const isGiven = (key: string): boolean =>
    !OPTIONAL.has(key) || (message[key] !== null && message[key] !== "");
  const keys = Object.keys(message);
  if (Object.hasOwn(message, "parts") && keys.every(isGiven)) return message;
  const given = keys.filter(isGiven).map((key) => [key, message[key]]);
  return { parts: [], ...Object.fromEntries(given) } as Json;
}

function wrongShape(issues: Parameters<typeof toProblems>[0]): GatewayError {
  const words = describeProblems(issues).join("; ");
  return new GatewayError("bad_request", `The request is not a SendMessageRequest. ${words}.`, {
    data: { issues: toProblems(issues) },
    hint: 'Send {"message": {"messageId": "...", "role": "user", "parts": [{"text": "..."}]}}.',
  });
}
