import { randomUUID } from "node:crypto";
import { taskSchema } from "propylon/contract";
import { lazy } from "../lazy.ts";
import { wordsOf } from "./answer.ts";
import type { Child } from "./child.ts";
import type { Collector } from "./collector.ts";
import { parsed, type RuntimeReply } from "./exchange.ts";
import type { RuntimeKitOptions } from "./options.ts";
import { requestOf, type Subject } from "./subject.ts";

/** A message that was sent, and what came back. */
export interface Sent {
  readonly messageId: string;
  readonly taskId: string | undefined;
  readonly reply: RuntimeReply;
}

/** A task that was left alone until its end. */
export interface Undisturbed {
  /** Milliseconds. */
  readonly took: number;
  readonly words: string;
}

/** What the checks of a run look at. Each thing is asked for once, when a check first wants it: tasks may cost money. */
export interface Scene {
  readonly subject: Subject;
  readonly options: RuntimeKitOptions;
  /** Absent: the runtime was running already. */
  readonly child: Child | undefined;
  readonly collector: Collector | undefined;
  readonly health: () => Promise<RuntimeReply>;
  readonly card: () => Promise<RuntimeReply>;
  /** An ordinary message that chose the id of its task. */
  readonly named: () => Promise<Sent>;
  /** An ordinary message that left it out. */
  readonly unnamed: () => Promise<Sent>;
  /** The slow message when nothing ends it; `undefined` when it does not complete. */
  readonly undisturbed: () => Promise<Undisturbed | undefined>;
  /** Answers to messages that make a task fail, the surest first. */
  readonly failing: () => Promise<readonly RuntimeReply[]>;
}

/** Sets the scene of one run. */
export function createScene(
  parts: Pick<Scene, "subject" | "options" | "child" | "collector">,
): Scene {
  const { subject, options } = parts;
  return {
    ...parts,
    health: lazy(() => subject.health()),
    card: lazy(() => subject.card()),
    named: lazy(() => sendMessage(parts, `conformance-${randomUUID()}`)),
    unnamed: lazy(() => sendMessage(parts, undefined)),
    undisturbed: lazy(() => sendSlow(subject, options)),
    failing: lazy(() => sendFailing(subject, options)),
  };
}

async function sendMessage(
  { subject, options }: Pick<Scene, "subject" | "options">,
  taskId: string | undefined,
): Promise<Sent> {
  const request = requestOf({
    text: options.probes.message,
    ...(taskId !== undefined && { taskId }),
  });
  const reply = await subject.post(JSON.stringify(request));
  return { messageId: request.message.messageId, taskId, reply };
}

async function sendSlow(
  subject: Subject,
  { probes }: RuntimeKitOptions,
): Promise<Undisturbed | undefined> {
  const began = performance.now();
  const reply = await subject.send({ text: probes.slow }).catch(() => undefined);
  const took = performance.now() - began;
  const { data: task } = taskSchema.safeParse(parsed(reply?.text ?? ""));
  return task?.status.state === "completed" ? { took, words: wordsOf(task) } : undefined;
}

async function sendFailing(
  subject: Subject,
  { probes: { failing } }: RuntimeKitOptions,
): Promise<readonly RuntimeReply[]> {
  if (failing !== undefined) return [await subject.send({ text: failing })];
  // A message that says nothing cannot be worked on.
  return [await subject.send({ parts: [] }), await subject.send({ parts: [{ data: {} }] })];
}
