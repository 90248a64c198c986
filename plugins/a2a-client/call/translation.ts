import type { Json } from "propylon";
import { FIRST_PROBLEM, isObject } from "propylon/kit";
import {
  messageSchema,
  streamEventSchema,
  TASK_STATES,
  taskSchema,
  type Task,
  stateFromStandard,
} from "propylon/contract";
import { z } from "zod";
import type { RemoteEvent } from "./agent-client.ts";

const KNOWN: ReadonlySet<unknown> = new Set(TASK_STATES);

/**
 * An event as A2A 1.0 or contract v1 writes it, in the words of contract v1. The contract leaves the wire shape of its events open,
 * so those that are not wrapped are taken too.
 *
 * @returns `undefined` for anything but an event, or an artifact without any content
 */
export function readEvent(wire: unknown): RemoteEvent | undefined {
  if (!isObject(wire)) return undefined;
  const { task, message, statusUpdate, artifactUpdate } = wire;
  if (isObject(task)) return parse(streamEventSchema, { task: readTask(task) });
  if (isObject(message)) return parse(replySchema, { message: readMessage(message) });
  if (isObject(statusUpdate)) return readStatus(statusUpdate);
  if (isObject(artifactUpdate)) return readArtifact(artifactUpdate);
  if (isObject(wire["artifact"])) return readArtifact(wire);
  if (!isObject(wire["status"])) return undefined;
  return wire["id"] === undefined ? readStatus(wire) : readEvent({ task: wire });
}

/** A task as A2A 1.0 or contract v1 writes it; `undefined` for anything else. */
export function toTask(wire: unknown): Task | undefined {
  return isObject(wire) ? parse(taskSchema, readTask(wire)) : undefined;
}

const replySchema = z.looseObject({ message: messageSchema });

function parse<T>(schema: z.ZodType<T>, value: unknown): T | undefined {
  const { data } = schema.safeParse(value, FIRST_PROBLEM);
  return data;
}

function readTask(task: Json): Json {
  const { artifacts, history: _, ...rest } = task;
  const kept = Array.isArray(artifacts) ? artifacts.filter(hasContent) : [];
  return { ...rest, status: readTaskStatus(task["status"]), artifacts: kept };
}

function readStatus(update: Json): RemoteEvent | undefined {
  return parse(streamEventSchema, {
    statusUpdate: { ...update, status: readTaskStatus(update["status"]) },
  });
}

function readArtifact(update: Json): RemoteEvent | undefined {
  if (!hasContent(update["artifact"])) return undefined;
  return parse(streamEventSchema, { artifactUpdate: update });
}

/** The end of an artifact is often told by a piece without content. */
function hasContent(artifact: unknown): boolean {
  if (!isObject(artifact)) return false;
  const parts = artifact["parts"];
  return Array.isArray(parts) && parts.length > 0;
}

/** A state that no table knows says no more than that the task is there. */
function readTaskStatus(status: unknown): unknown {
  if (!isObject(status)) return status;
  const { state, message, ...rest } = status;
  const known = stateFromStandard(state) ?? (KNOWN.has(state) ? state : "working");
  return { ...rest, state: known, ...(isObject(message) && { message: readMessage(message) }) };
}

function readMessage(message: Json): Json {
  const { role } = message;
  return { ...message, role: role === "ROLE_USER" || role === "user" ? "user" : "agent" };
}
