import type { Principal } from "propylon";
import type { Message, Task } from "propylon/contract";
import type { TaskOwner, TaskFilter } from "../service.ts";
import type { LiveTask } from "./live-task.ts";

/** How much is kept. */
export interface TaskStoreLimits {
  readonly maxTasks: number;
  readonly maxTotalSize: number;
  /** Milliseconds. */
  readonly ttl: number;
}

/** The tasks by who owns them: whoever does not own one does not find it. */
export class TaskStore {
  /** By owner and id, in the order in which they were made. */
  readonly #tasks = new Map<string, LiveTask>();
  /** By owner and the id of a message that they took. */
  readonly #messages = new Map<string, LiveTask>();
  readonly #taken = new Map<LiveTask, string[]>();
  /** Those that ended, the oldest first. */
  readonly #over = new Set<LiveTask>();
  readonly #weights = new Map<LiveTask, number>();
  #bytes = 0;

  /** What the tasks hold that nobody works on. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many have not ended. */
  get live(): number {
    return this.#tasks.size - this.#over.size;
  }

  [Symbol.iterator](): IterableIterator<LiveTask> {
    return this.#tasks.values();
  }

  add(task: LiveTask): void {
    this.#tasks.set(keyOf(task.owner, task.id), task);
  }

  find(id: string, owner: TaskOwner): LiveTask | undefined {
    return this.#tasks.get(keyOf(owner, id));
  }

  /** The task that took this very message. */
  findByMessage({ messageId }: Message, owner: Principal): LiveTask | undefined {
    return messageId === undefined ? undefined : this.#messages.get(keyOf(owner, messageId));
  }

  /** The tasks of a principal that a filter lets through, the one that changed last first. */
  list({ contextId, state, since }: TaskFilter, { ref }: Principal): readonly Task[] {
    const from = since === undefined ? -Infinity : Date.parse(since);
    return [...this]
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

  /** Remembers that a task took a message. */
  note(task: LiveTask, { messageId }: Message): void {
    if (messageId === undefined) return;
    const key = keyOf(task.owner, messageId);
    this.#messages.set(key, task);
    this.#taken.set(task, [...(this.#taken.get(task) ?? []), key]);
  }

  /** Counts what a task holds, now that nobody works on it. */
  weigh(task: LiveTask): void {
    const { bytes } = task;
    this.#bytes += bytes - (this.#weights.get(task) ?? 0);
    this.#weights.set(task, bytes);
  }

  /** Files a task that ended. */
  file(task: LiveTask): void {
    this.#over.add(task);
  }

  /** Forgets a task that is another gateway's, or never came to be. */
  forget(task: LiveTask): void {
    this.#over.add(task);
    this.drop(task);
  }

  /**
   * Drops what is kept no longer.
   * @param dropped hears of each
   */
  sweep(
    { maxTasks, maxTotalSize, ttl }: TaskStoreLimits,
    dropped: (task: LiveTask) => void,
    now = Date.now(),
  ): void {
    for (const task of this.#over) {
      const isTooOld = now - task.changedAt > ttl;
      if (!isTooOld && this.#tasks.size <= maxTasks && this.#bytes <= maxTotalSize) return;
      this.drop(task);
      dropped(task);
    }
  }

  /** Forgets a task that ended. */
  drop(task: LiveTask): void {
    if (!this.#over.delete(task)) return;
    this.#bytes -= this.#weights.get(task) ?? 0;
    this.#weights.delete(task);
    this.#tasks.delete(keyOf(task.owner, task.id));
    // The id of a message may have been used again since.
    for (const key of this.#taken.get(task) ?? [])
      if (this.#messages.get(key) === task) this.#messages.delete(key);
    this.#taken.delete(task);
  }
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
