import { setTimeout as pause } from "node:timers/promises";
import { sentenceOf } from "../check.ts";
import type { Child, Exit } from "./child.ts";
import { NoAnswer, type RuntimeReply } from "./exchange.ts";
import type { RuntimeKitOptions } from "./options.ts";
import type { Subject } from "./subject.ts";
import { within } from "propylon/kit";

/** How long a task may take to get going before the signal, and a signal to be noticed. Milliseconds. */
const SETTLE_MS = 400;
/** Between two requests during the shutdown. Milliseconds. */
const STEP_MS = 100;
/** What a runtime gets beyond its grace period to close and exit. Milliseconds. */
export const LEAVE_MS = 3_000;

/** How a request ended: an answer, or in a sentence why there was none. */
export type RequestEnd =
  | { readonly reply: RuntimeReply; readonly at: number }
  | { readonly broken: string; readonly at: number };

/** What was seen of a shutdown. */
export interface Shutdown {
  /** `performance.now()` when the task was sent. */
  readonly sentAt: number;
  /** `performance.now()` of the signal. */
  readonly signalledAt: number;
  /** Whether a task was still unanswered when the signal was sent. */
  readonly wasBusy: boolean;
  /** The task that was in flight. */
  readonly task: RequestEnd;
  /** New tasks that were sent while the runtime was still at work. */
  readonly late: readonly RequestEnd[];
  /** Absent: it had to be killed. */
  readonly exit: Exit | undefined;
}

/** Sends SIGTERM to a runtime that has a task in flight, goes on sending it others, and watches until it is gone. */
export async function watchShutdown(
  subject: Subject,
  child: Child,
  { probes, grace }: Pick<RuntimeKitOptions, "probes" | "grace">,
): Promise<Shutdown> {
  let isAnswered = false;
  const sentAt = performance.now();
  const task = endingOf(subject.send({ text: probes.slow })).finally(() => (isAnswered = true));
  await Promise.race([task, pause(SETTLE_MS)]);
  const wasBusy = !isAnswered;
  const signalledAt = performance.now();
  child.terminate();
  const late: RequestEnd[] = [];
  const isOver = (): boolean => isAnswered || child.hasEnded();
  await Promise.race([child.exit, pause(SETTLE_MS)]);
  while (!isOver() && !late.some((ending) => "reply" in ending)) {
    const ending = await endingOf(subject.send({ text: probes.message }));
    // A request that the end of the process cut off says nothing about new tasks.
    if ("reply" in ending || !isOver()) late.push(ending);
    await Promise.race([task, child.exit, pause(STEP_MS)]);
  }
  const left = Math.max(0, signalledAt + grace + LEAVE_MS - performance.now());
  const exit = (await within(child.exit, left)) ? await child.exit : undefined;
  if (!exit) await child.destroy();
  return { sentAt, signalledAt, wasBusy, task: await task, late, exit };
}

function endingOf(request: Promise<RuntimeReply>): Promise<RequestEnd> {
  return request.then(
    (reply) => ({ reply, at: performance.now() }),
    (error: unknown) => ({
      broken: error instanceof NoAnswer ? error.why : sentenceOf(error),
      at: performance.now(),
    }),
  );
}
