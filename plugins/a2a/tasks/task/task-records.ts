import { JobRecords } from "propylon/plugins/tasks";
import { type Entry, type Store, storeKey } from "propylon/store";
import type { TaskOwner } from "../../service.ts";
import type { LiveTask } from "./live-task.ts";
import { isUnderWay, type TaskRecord, taskRecordSchema } from "./task-record.ts";

/** How keys begin that would be too long: they do not tell whose they are. */
const LONG = "sha256:";

/** The tasks in the gateway's store. With a store that persists nothing, nothing is done. */
export class TaskRecords extends JobRecords<LiveTask, TaskRecord> {
  constructor(store: Store) {
    super(store, "tasks", {
      schema: taskRecordSchema,
      isUnderWay,
      keyOf: ({ owner, id }) => taskKey(owner, id),
      toRecord: (task, replica) => task.toRecord(replica),
    });
  }

  /** One that another replica may have made since. */
  async find(id: string, owner: TaskOwner): Promise<TaskRecord | undefined> {
    if (!this.isShared) return undefined;
    const entry = await this.kv.get(taskKey(owner, id));
    if (entry) this.adopt(entry);
    return entry?.value;
  }

  /** All of a principal, at whichever replica, read a page at a time; for a look only. */
  async *of({ ref }: TaskOwner): AsyncIterable<TaskRecord> {
    if (!this.isShared) return;
    for (const prefix of [`${storeKey(ref)}/`, LONG])
      for await (const { value } of this.kv.list(prefix)) if (value.owner === ref) yield value;
  }

  /** One as it is in the store, for a look only. */
  async read(id: string, owner: TaskOwner): Promise<TaskRecord | undefined> {
    return (await this.kv.get(taskKey(owner, id)))?.value;
  }

  /** One with its revision, by the key that {@link watchKeys} tells. */
  entry(key: string): Promise<Entry<TaskRecord> | undefined> {
    return this.kv.get(key);
  }

  /**
   * Writes over one revision; 0: where nothing is.
   * @returns the new revision; `undefined` when another is there
   */
  async swap(record: TaskRecord, rev: number): Promise<number | undefined> {
    const key = taskKey({ ref: record.owner }, record.task.id);
    const next = await this.kv.update(key, record, rev);
    if (next !== undefined && this.isOwn(record)) this.adopt({ key, rev: next });
    return next;
  }

  /** Tells of every task that any replica wrote, by its key; `undefined`: of all. */
  watchKeys(listener: (key: string | undefined) => void): Promise<() => void> {
    return this.kv.watchKeys(listener).then((end) => () => void end());
  }
}

/** Key of a task. */
export function taskKey({ ref }: TaskOwner, id: string): string {
  return storeKey(ref, id);
}
