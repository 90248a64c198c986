import { problemText } from "propylon/kit";
import type { z } from "zod";
import { taskSchema, textOf, type Part, type Task } from "propylon/contract";
import { Deviation, Unobservable, shown } from "../check.ts";
import { parsed, type RuntimeReply } from "./exchange.ts";

/**
 * The task in an answer.
 * @throws {Deviation} saying what is wrong with it
 */
export function readTask({ status, text }: RuntimeReply): Task {
  if (status !== 200)
    throw new Deviation(`Expected 200 with a Task, got ${status}: ${shown(text)}`);
  return readAs(taskSchema, text, "Task");
}

/** The task in an answer, for checks that have nothing to look at without one: what is wrong then is told by the check of the task. */
export function taskIn(reply: RuntimeReply): Task {
  const { success, data } = taskSchema.safeParse(parsed(reply.text));
  if (reply.status === 200 && success) return data;
  throw new Unobservable("There was no valid Task to look at (see R063).");
}

/**
 * Something that has to follow a schema.
 * @throws {Deviation} saying where it does not
 */
export function readAs<T>(schema: z.ZodType<T>, text: string, name: string): T {
  const value = parsed(text);
  if (value === undefined) throw new Deviation(`Expected JSON of a ${name}, got: ${shown(text)}`);
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new Deviation(`Not a valid ${name}: ${issuesOf(error)}.`);
}

function issuesOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map((issue) => problemText(issue, "the document"))
    .join("; ");
}

/** Everything that a task says in words: its artifacts and its status. */
export function wordsOf({ artifacts = [], status }: Task): string {
  const parts: readonly Part[] = [
    ...artifacts.flatMap((artifact) => artifact.parts),
    ...(status.message?.parts ?? []),
  ];
  return textOf(parts);
}
