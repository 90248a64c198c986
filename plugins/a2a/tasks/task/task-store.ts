import type { Message, Task } from "propylon/contract";
import { JobMemory } from "propylon/plugins/tasks";
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
export class TaskStore extends JobMemory<LiveTask> {
  /** By owner and the id of a message that they took. */
  readonly #messages = new Map<string, LiveTask>();
  readonly #taken = new Map<LiveTask, string[]>();

  constructor() {
    super(({ owner, id }) => keyOf(owner, id));
  }

  find(id: string, owner: TaskOwner): LiveTask | undefined {
    return this.get(keyOf(owner, id));
  }

  /** The task that took this very message. */
  findByMessage({ messageId }: Message, owner: TaskOwner): LiveTask | undefined {
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

  /** Files a task that ended. */
  file(task: LiveTask): void {
    if (!this.ended.has(task)) this.end(task);
  }

  /**
   * Drops what is kept no longer, or beyond the bounds.
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
    for (const task of this.ended) {
      if (now - task.changedAt <= ttl) break;
      drop(task);
    }
    const { all, bytes } = this.shares;
    while (this.ended.size > 0 && this.size > maxTasks) drop(this.surplus(all)!);
    while (this.ended.size > 0 && this.bytes > maxTotalSize) drop(this.surplus(bytes)!);
  }

  override drop(task: LiveTask): boolean {
    // The id of a message may have been used again since.
    for (const key of this.#taken.get(task) ?? [])
      if (this.#messages.get(key) === task) this.#messages.delete(key);
    this.#taken.delete(task);
    return super.drop(task);
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
  return `${ref.length}:${ref}${own}`;
}

/** The times of tasks are all written by `toISOString`, so that they sort as texts: nobody parses 10,000 of them for a page. */
function newerFirst(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? 1 : -1;
}
