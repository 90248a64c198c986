import type { Task } from "propylon/contract";
import { Semaphore, timeoutSignal } from "propylon/kit";
import type { ListedTask, TaskFilter, TaskOwner } from "../service.ts";
import type { ReplicaTasks } from "./replicas/replica-tasks.ts";
import type { TaskRecord } from "./task/task-record.ts";
import type { TaskRecords } from "./task/task-records.ts";
import { passes, type TaskStore } from "./task/task-store.ts";
import { isSettled } from "../contract/states.ts";

/** Lists of tasks that are read from the store at a time. */
const MAX_LISTINGS = 4;
/** Tasks at work at other replicas that are asked for at a time, for a list. */
const MAX_LOOKS = 16;
/** How long one waits for its turn at most, in milliseconds. */
const LISTING_MS = 10_000;

/** Where tasks are: here, in the store, and at work at other replicas. */
interface TaskPlaces {
  readonly store: TaskStore;
  readonly records: TaskRecords;
  readonly others: ReplicaTasks;
}

/** Lists of a principal's tasks, wherever they are. */
export class TaskListing {
  readonly #places: TaskPlaces;
  readonly #turns = new Semaphore(MAX_LISTINGS);

  constructor(places: TaskPlaces) {
    this.#places = places;
  }

  /** @throws {GatewayError} what the store says */
  async listAll(filter: TaskFilter, principal: TaskOwner): Promise<readonly ListedTask[]> {
    const { store, records } = this.#places;
    const found = new Map<string, ListedTask>();
    for (const task of store.list(filter, principal))
      found.set(task.id, { id: task.id, status: task.status, whole: () => Promise.resolve(task) });
    if (!records.isShared) return [...found.values()];
    // Each reads all of a principal's tasks: a few at a time.
    const end = await this.#turns.take(timeoutSignal(LISTING_MS));
    try {
      await this.#addStored(found, passes(filter), principal);
    } finally {
      end();
    }
    return [...found.values()];
  }

  async #addStored(
    found: Map<string, ListedTask>,
    isWanted: (task: Task) => boolean,
    principal: TaskOwner,
  ): Promise<void> {
    const { store, records, others } = this.#places;
    const atWork: TaskRecord[] = [];
    for await (const record of records.of(principal)) {
      const { id } = record.task;
      if (records.isOwn(record) && store.find(id, principal)) continue;
      found.delete(id);
      if (!isSettled(record.task.status.state)) atWork.push(record);
      else if (isWanted(record.task)) found.set(id, this.#listed(record));
    }
    for (let at = 0; at < atWork.length; at += MAX_LOOKS)
      await Promise.all(
        atWork.slice(at, at + MAX_LOOKS).map(async (record) => {
          const task = await others.look(record);
          if (isWanted(task)) found.set(task.id, this.#listed({ ...record, task }));
        }),
      );
  }

  /** Only what a list is ordered by: all of a principal's tasks may be more than there is memory for. */
  #listed({ task, owner }: TaskRecord): ListedTask {
    const { records, others } = this.#places;
    const { id, status } = task;
    const whole = async (): Promise<Task | undefined> => {
      const record = await records.read(id, { ref: owner });
      return record && !isSettled(record.task.status.state) ? others.look(record) : record?.task;
    };
    return { id, status, whole };
  }
}
