import type { Principal } from "propylon";
import type { Task } from "propylon/contract";
import type { TaskFilter } from "../service.ts";
import type { LiveTask } from "./live-task.ts";

/** The tasks of a principal that a filter lets through, the one that changed last first. */
export function listTasks(
  tasks: Iterable<LiveTask>,
  { contextId, state, since }: TaskFilter,
  { ref }: Principal,
): readonly Task[] {
  const from = since === undefined ? -Infinity : Date.parse(since);
  return [...tasks]
    .filter(({ owner }) => owner.ref === ref)
    .map(({ task }) => task)
    .filter(
      ({ contextId: context, status }) =>
        (contextId === undefined || context === contextId) &&
        (state === undefined || status.state === state) &&
        (since === undefined || Date.parse(status.timestamp!) >= from),
    )
    .toReversed()
    .toSorted((a, b) => newerFirst(a.status.timestamp!, b.status.timestamp!));
}

/** The times of tasks are all written by `toISOString`, so that they sort as texts: nobody parses 10,000 of them for a page. */
function newerFirst(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? 1 : -1;
}
