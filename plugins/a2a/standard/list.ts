import { setImmediate } from "node:timers/promises";
import type { ListTasksRequest } from "@a2a-js/sdk";
import { GatewayError } from "propylon";
import type { Task } from "propylon/contract";
import { jsonSize } from "../json-size.ts";

type Listed = Pick<Task, "id" | "status">;

const DEFAULT_SIZE = 50;
const LARGEST = 100;
/** Most bytes of the tasks in a page, except for a single one that has more: a hundred may have 200 MB together. */
const MAX_BYTES = 4 * 1_048_576;

/** Some of the tasks, and where to go on. */
export interface TaskPage<T extends Listed> {
  readonly tasks: readonly T[];
  /** `""` at the end. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  /** Over all pages. */
  readonly totalSize: number;
}

/**
 * One page of a list, the task that changed last first (A2A 1.0, 3.1.4). A token names the last task shown by time and id, so
 * that tasks that come or go in between neither repeat nor hide others.
 * @throws {GatewayError} `invalid` for a page size outside 1 to 100 or a token that is not ours
 */
export function pageOf<T extends Listed>(
  tasks: readonly T[],
  { pageSize = DEFAULT_SIZE, pageToken }: Pick<ListTasksRequest, "pageSize" | "pageToken">,
): TaskPage<T> {
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > LARGEST)
    throw new GatewayError("invalid", `pageSize must be a whole number from 1 to ${LARGEST}.`);
  const sorted = tasks.map((task) => ({ task, key: keyOf(task) })).toSorted(byKey);
  const rest = pageToken === "" ? sorted : after(sorted, readToken(pageToken));
  const shown = rest.slice(0, pageSize);
  const last = shown.at(-1);
  return {
    tasks: shown.map(({ task }) => task),
    nextPageToken: last && rest.length > shown.length ? writeToken(last.key) : "",
    pageSize,
    totalSize: tasks.length,
  };
}

/**
 * The tasks of a page, as many as it has room for; where that is not all of them, the next page begins with the first that is missing.
 *
 * @param read the task as it is shown; `undefined`: it is gone meanwhile
 */
export async function fillPage<T extends Listed, S>(
  page: TaskPage<T>,
  read: (task: T) => Promise<S | undefined>,
): Promise<{ readonly tasks: S[]; readonly nextPageToken: string }> {
  const tasks: S[] = [];
  let bytes = 0;
  for (const [index, listed] of page.tasks.entries()) {
    const task = await read(listed);
    if (task === undefined) continue;
    bytes += jsonSize(task) ?? 0;
    if (bytes > MAX_BYTES && tasks.length > 0)
      return { tasks, nextPageToken: writeToken(keyOf(page.tasks[index - 1]!)) };
    tasks.push(task);
    await setImmediate();
  }
  return { tasks, nextPageToken: page.nextPageToken };
}

/** Time of the last change, id. */
type Key = readonly [string, string];

interface Keyed<T> {
  readonly task: T;
  readonly key: Key;
}

function keyOf({ id, status }: Listed): Key {
  return [status.timestamp ?? "", id];
}

function compare([leftTime, leftId]: Key, [rightTime, rightId]: Key): number {
  if (leftTime !== rightTime) return leftTime < rightTime ? 1 : -1;
  if (leftId === rightId) return 0;
  return leftId < rightId ? 1 : -1;
}

function byKey(left: Keyed<unknown>, right: Keyed<unknown>): number {
  return compare(left.key, right.key);
}

function after<T>(sorted: readonly Keyed<T>[], key: Key): readonly Keyed<T>[] {
  const next = sorted.findIndex((task) => compare(task.key, key) > 0);
  return next < 0 ? [] : sorted.slice(next);
}

function writeToken(key: Key): string {
  return Buffer.from(JSON.stringify(key)).toString("base64url");
}

function readToken(token: string): Key {
  try {
    const key: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    if (Array.isArray(key) && key.length === 2 && key.every((item) => typeof item === "string"))
      return key as unknown as Key;
  } catch {
    // Told below.
  }
  throw new GatewayError("invalid", "pageToken is not one of this server.", {
    hint: "Send the nextPageToken of the page before, or none for the first page.",
  });
}
