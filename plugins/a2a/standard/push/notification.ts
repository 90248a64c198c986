import { createHash } from "node:crypto";
import { writeJson } from "propylon/kit";
import { STATES, type StreamEvent } from "propylon/contract";
import { eventToStandard } from "../../contract/standard.ts";
import { stateOf } from "../../contract/task.ts";
import type { PushNotification } from "./outbox.ts";

/** A notification as the webhook receives it: one item of a stream (A2A 1.0, 4.3.3). */
export function notificationOf(event: StreamEvent): PushNotification {
  const state = stateOf(event);
  const isLast = state !== undefined && STATES[state].isFinal;
  return { body: writeJson(eventToStandard(event)), isLast, status: statusKeyOf(event) };
}

/** Which status of its task an event tells of, if it does. */
export function statusKeyOf(event: StreamEvent): string | undefined {
  if ("artifactUpdate" in event) return undefined;
  const { state, timestamp } = "task" in event ? event.task.status : event.statusUpdate.status;
  return `${state} ${timestamp}`;
}

/** A status that is told again, after a restart or by another replica, has the id that it had before. */
export function withId(
  notification: PushNotification,
  taskId: string,
  hookId: string,
): PushNotification {
  const { status } = notification;
  if (status === undefined) return notification;
  const digest = createHash("sha256").update(JSON.stringify([taskId, hookId, status]));
  return { ...notification, id: digest.digest("base64url") };
}
