import { GatewayError } from "propylon";
import type { A2aOptions } from "../../options.ts";

/** What tasks take before they end. */
interface Load {
  readonly jobs: number;
  /** Of tasks that wait. */
  readonly bytes: number;
  readonly atWork: number;
}

type Limits = Pick<A2aOptions["tasks"], "maxRunning" | "maxTasks" | "maxTotalSize">;

/** A message that asks for room. */
export interface Applicant {
  /** What there is in all, and what its sender has of it. */
  readonly all: Load;
  readonly own: Load;
  readonly options: A2aOptions["tasks"];
  /** Whether it begins a task. */
  readonly isNew: boolean;
}

/**
 * Lets a message in, or not: beyond its share nobody takes the room of others.
 * @throws {GatewayError} `rate_limited`
 */
export function admit({ all, own, options, isNew }: Applicant): void {
  if (!hasRoom(all, options, isNew)) throw refuseMore(`There are ${all.jobs} tasks`);
  if (!hasRoom(own, shareOf(options), isNew)) throw refuseMore(`You have ${own.jobs} tasks`);
}

/** What ended makes room, so what takes it are tasks that wait: only an answer, or their age, ends those. */
function hasRoom({ jobs, bytes, atWork }: Load, limits: Limits, isNew: boolean): boolean {
  if (atWork >= limits.maxRunning) return false;
  return !isNew || (jobs - atWork < limits.maxTasks && bytes <= limits.maxTotalSize);
}

function shareOf({ maxShare, maxRunning, maxTasks, maxTotalSize }: A2aOptions["tasks"]): Limits {
  return {
    maxRunning: Math.ceil(maxRunning * maxShare),
    maxTasks: Math.ceil(maxTasks * maxShare),
    maxTotalSize: Math.ceil(maxTotalSize * maxShare),
  };
}

function refuseMore(what: string): GatewayError {
  return new GatewayError("rate_limited", `${what} under way or waiting already.`, {
    hint: "Try again when some have ended.",
    headers: { "retry-after": "5" },
  });
}
