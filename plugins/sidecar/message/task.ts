import { FIRST_PROBLEM, parseExact } from "propylon/kit";
import { createHash, randomUUID } from "node:crypto";
import {
  sendMessageRequestSchema,
  type SendMessageRequest,
  type StreamEvent,
  type Task,
  type TaskState,
} from "propylon/contract";
import { Failure } from "./failure.ts";
import { readOwner, scopedId, type TaskName } from "./owner.ts";
import { tokenOf } from "./subjects.ts";
import type { Delivery } from "./transport.ts";

/** A task as handed in. */
export interface SubmittedTask extends TaskName {
  readonly request: SendMessageRequest;
  readonly messageId: string | undefined;
}

/**
 * The task in a delivery.
 * @throws {Failure} for what is not a task, and never will be
 */
export function readSubmittedTask({ data, ...delivery }: Delivery): SubmittedTask {
  const request = parseRequest(data);
  const { taskId, messageId } = request.message;
  const owner = readOwner(delivery.headers);
  if (!isId(taskId) || !isId(messageId))
    throw new Failure("invalid_request", "An id in what was handed in holds half a character.");
  const id = nonEmpty(taskId) ?? nonEmpty(messageId);
  if (id !== undefined) return { id, owner, request, messageId: nonEmpty(messageId) };
  // Nobody named it: its place in the queue does, so that every delivery of it has the same id.
  const derived = derivedId(delivery);
  const message = { ...request.message, taskId: derived };
  return { id: derived, owner, request: { ...request, message }, messageId: undefined };
}

/** The task in a delivery, as far as it has a name. */
export function unreadName(delivery: Delivery): TaskName {
  return { id: derivedId(delivery), owner: readOwner(delivery.headers) };
}

/** Whether something can be an id: half of a surrogate pair has no UTF-8, and two of them would become one subject. */
export function isId(text = ""): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Place and time: a stream that was made again counts from 1 again. */
export function derivedId({ sequence, storedAt }: Pick<Delivery, "sequence" | "storedAt">): string {
  return `task-${sequence}-${storedAt}`;
}

function parseRequest(data: Uint8Array): SendMessageRequest {
  let value: unknown;
  try {
    value = parseExact(new TextDecoder("utf-8", { fatal: true }).decode(data));
  } catch (cause) {
    throw new Failure("invalid_json", "The task is not JSON.", cause);
  }
  const checked = sendMessageRequestSchema.safeParse(value, FIRST_PROBLEM);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const field = issue?.path.join(".").slice(0, 200) ?? "";
  throw new Failure(
    "invalid_request",
    `The task is not a SendMessageRequest (${field || "the body"}).`,
  );
}

/** `Nats-Msg-Id` of what belongs to one message of one task: the same for all its executions. */
export function keyOf(
  kind: "task" | "result",
  name: TaskName,
  messageId: string | undefined,
): string {
  const part = messageId === undefined || messageId === name.id ? "" : `.${digest(messageId)}`;
  return `${kind}-${tokenOf(scopedId(name))}${part}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("base64url").slice(0, 22);
}

/** The result of a task that was given up, so that nobody waits for it forever. */
export function failedTask(
  id: string,
  { reason, message }: Failure,
  deliveries: number,
  contextId: string | undefined,
): Task {
  const text = `The task was given up after ${deliveries === 1 ? "one delivery" : `${deliveries} deliveries`}: ${message}`;
  return {
    id,
    ...(contextId !== undefined && { contextId }),
    status: {
      state: "failed",
      timestamp: new Date().toISOString(),
      message: { messageId: randomUUID(), role: "agent", taskId: id, parts: [{ text }] },
    },
    metadata: { deadLetter: { reason, deliveries } },
  };
}

/** An event that says where a task is. */
export function statusEvent(
  { id, request }: Pick<SubmittedTask, "id" | "request">,
  state: TaskState,
  metadata?: Record<string, unknown>,
): StreamEvent {
  const { contextId } = request.message;
  return {
    statusUpdate: {
      taskId: id,
      ...(contextId !== undefined && { contextId }),
      status: { state, timestamp: new Date().toISOString() },
      ...(metadata && { metadata }),
    },
  };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
