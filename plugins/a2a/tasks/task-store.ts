import type { Principal } from "propylon";
import type { Message } from "propylon/contract";
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

  find(id: string, owner: Principal): LiveTask | undefined {
    return this.#tasks.get(keyOf(owner, id));
  }

  /** The task that took this very message. */
  findByMessage({ messageId }: Message, owner: Principal): LiveTask | undefined {
    return messageId === undefined ? undefined : this.#messages.get(keyOf(owner, messageId));
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

  /** Drops what is kept no longer. */
  sweep({ maxTasks, maxTotalSize, ttl }: TaskStoreLimits, now = Date.now()): void {
    for (const task of this.#over) {
      const isTooOld = now - task.changedAt > ttl;
      if (!isTooOld && this.#tasks.size <= maxTasks && this.#bytes <= maxTotalSize) return;
      this.drop(task);
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
function keyOf({ ref }: Principal, own: string): string {
  return JSON.stringify([ref, own]);
}
