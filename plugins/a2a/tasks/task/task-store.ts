import type { Principal } from "propylon";
import type { Message, Task } from "propylon/contract";
import { FairQuota } from "propylon/kit";
import type { TaskOwner, TaskFilter } from "../../service.ts";
import type { LiveTask } from "./live-task.ts";

/** How much is kept. */
export interface TaskStoreLimits {
  readonly maxTasks: number;
  readonly maxTotalSize: number;
  /** Milliseconds. */
  readonly ttl: number;
}

/** The tasks by who owns them: others do not find them. */
export class TaskStore {
  /** By owner and id, in the order in which they were made. */
  readonly #tasks = new Map<string, LiveTask>();
  /** By owner and the id of a message that they took. */
  readonly #messages = new Map<string, LiveTask>();
  readonly #taken = new Map<LiveTask, string[]>();
  /** Those that ended, the oldest first. */
  readonly #over = new Set<LiveTask>();
  readonly #weights = new Map<LiveTask, number>();
  /** By owner: all tasks with what they hold, and those that have not ended. */
  readonly #shares = {
    tasks: new FairQuota(),
    bytes: new FairQuota(),
    live: new FairQuota(),
    liveBytes: new FairQuota(),
  };
  #bytes = 0;

  /** What the tasks hold that nobody works on. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many have not ended. */
  get live(): number {
    return this.#tasks.size - this.#over.size;
  }

  /** What a principal has that has not ended: how many, and what they hold that nobody works on. */
  liveOf({ ref }: TaskOwner): { readonly tasks: number; readonly bytes: number } {
    return { tasks: this.#shares.live.of(ref), bytes: this.#shares.liveBytes.of(ref) };
  }

  [Symbol.iterator](): IterableIterator<LiveTask> {
    return this.#tasks.values();
  }

  add(task: LiveTask): void {
    const key = keyOf(task.owner, task.id);
    if (this.#tasks.get(key) === task) return;
    this.#tasks.set(key, task);
    this.#shares.tasks.add(task.owner.ref);
    this.#shares.live.add(task.owner.ref);
  }

  find(id: string, owner: TaskOwner): LiveTask | undefined {
    return this.#tasks.get(keyOf(owner, id));
  }

  /** The task that took this very message. */
  findByMessage({ messageId }: Message, owner: Principal): LiveTask | undefined {
    return messageId === undefined ? undefined : this.#messages.get(keyOf(owner, messageId));
  }

  /** The tasks of a principal that a filter lets through, the one that changed last first. */
  list(filter: TaskFilter, { ref }: TaskOwner): readonly Task[] {
    return [...this]
      .filter(({ owner }) => owner.ref === ref)
      .map(({ task }) => task)
      .filter(passes(filter))
      .toReversed()
      .toSorted((a, b) => newerFirst(a.status.timestamp!, b.status.timestamp!));
  }

  /** Remembers that a task took a message. */
  note(task: LiveTask, { messageId }: Message): void {
    if (messageId === undefined) return;
    const key = keyOf(task.owner, messageId);
    this.#messages.set(key, task);
    this.#taken.set(task, [...(this.#taken.get(task) ?? []), key]);
  }

  /** Counts what a task holds, now that nobody works on it. */
  weigh(task: LiveTask): void {
    const { bytes, owner } = task;
    const more = bytes - (this.#weights.get(task) ?? 0);
    this.#bytes += more;
    this.#shares.bytes.add(owner.ref, more);
    if (!this.#over.has(task)) this.#shares.liveBytes.add(owner.ref, more);
    this.#weights.set(task, bytes);
  }

  /** Files a task that ended. */
  file(task: LiveTask): void {
    if (this.#over.has(task)) return;
    this.#over.add(task);
    this.#shares.live.remove(task.owner.ref);
    this.#shares.liveBytes.remove(task.owner.ref, this.#weights.get(task) ?? 0);
  }

  /** Forgets a task that is another gateway's, or never came to be. */
  forget(task: LiveTask): void {
    this.file(task);
    this.drop(task);
  }

  /**
   * Drops what is kept no longer. Beyond the bounds the oldest goes of the one with the most, or one principal's flood would take
   * the results of all others with it.
   * @param dropped hears of each
   */
  sweep(
    { maxTasks, maxTotalSize, ttl }: TaskStoreLimits,
    dropped: (task: LiveTask) => void,
    now = Date.now(),
  ): void {
    const drop = (task: LiveTask): void => {
      this.drop(task);
      dropped(task);
    };
    for (const task of this.#over) {
      if (now - task.changedAt <= ttl) break;
      drop(task);
    }
    while (this.#over.size > 0 && this.#tasks.size > maxTasks) drop(this.#surplus("tasks"));
    while (this.#over.size > 0 && this.#bytes > maxTotalSize) drop(this.#surplus("bytes"));
  }

  /** The oldest that ended, of the one with the most; of anybody, if all of that one's are live. */
  #surplus(bound: "tasks" | "bytes"): LiveTask {
    const isLargest = this.#shares[bound].largestWith("");
    let oldest: LiveTask | undefined;
    for (const task of this.#over) {
      if (isLargest(task.owner.ref)) return task;
      oldest ??= task;
    }
    return oldest!;
  }

  /** Forgets a task that ended. */
  drop(task: LiveTask): void {
    if (!this.#over.delete(task)) return;
    const weight = this.#weights.get(task) ?? 0;
    this.#bytes -= weight;
    this.#weights.delete(task);
    this.#tasks.delete(keyOf(task.owner, task.id));
    this.#shares.tasks.remove(task.owner.ref);
    this.#shares.bytes.remove(task.owner.ref, weight);
    // The id of a message may have been used again since.
    for (const key of this.#taken.get(task) ?? [])
      if (this.#messages.get(key) === task) this.#messages.delete(key);
    this.#taken.delete(task);
  }
}

/** What a filter lets through. */
export function passes({ contextId, state, since }: TaskFilter): (task: Task) => boolean {
  const from = since === undefined ? -Infinity : Date.parse(since);
  return ({ contextId: context, status }) =>
    (contextId === undefined || context === contextId) &&
    (state === undefined || status.state === state) &&
    (since === undefined || Date.parse(status.timestamp!) >= from);
}

/** Ids are chosen by clients: no id of one principal looks like one of another. */
function keyOf({ ref }: TaskOwner, own: string): string {
  return JSON.stringify([ref, own]);
}

/** The times of tasks are all written by `toISOString`, so that they sort as texts: nobody parses 10,000 of them for a page. */
function newerFirst(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? 1 : -1;
}
