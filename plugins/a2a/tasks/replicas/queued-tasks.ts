import type { StreamEvent } from "propylon/contract";
import { STATES } from "propylon/contract";
import { isSettled } from "../../contract/states.ts";
import { QueuedTask, type QueuedTaskHost } from "./queued-task.ts";
import type { TaskRecord } from "../task/task-record.ts";
import { taskKey, type TaskRecords } from "../task/task-records.ts";

/** What tells of tasks that any replica may be at. */
export interface QueuedTasksHost {
  readonly records: TaskRecords;
  readonly follow: QueuedTaskHost["follow"];
}

/** The tasks of the queue that somebody here looks at. */
export class QueuedTasks {
  readonly #host: QueuedTasksHost;
  /** Who wants to hear when a task was written, by its key. */
  readonly #listeners = new Map<string, Set<() => void>>();
  /** Those that somebody looks at, by key and ticket: each is read and followed once, however many do. */
  readonly #views = new Map<string, QueuedTask>();

  constructor(host: QueuedTasksHost) {
    this.#host = host;
  }

  /** Hears of what all replicas write. @returns ends that */
  start(): Promise<() => void> {
    return this.#host.records.watchKeys((key) => {
      const heard = key === undefined ? [...this.#listeners.values()] : [this.#listeners.get(key)];
      for (const listener of heard.flatMap((each) => [...(each ?? [])])) listener();
    });
  }

  open(record: TaskRecord): QueuedTask {
    const key = taskKey({ ref: record.owner }, record.task.id);
    const name = JSON.stringify([key, record.queued?.ticket]);
    const known = this.#views.get(name);
    if (known) return known;
    const forget = (): void => {
      if (this.#views.get(name) === view) this.#views.delete(name);
    };
    const view: QueuedTask = new QueuedTask(record, {
      read: async () => (await this.#host.records.entry(key))?.value,
      onWrite: (listener) => {
        this.#views.set(name, view);
        const stop = this.onWrite(key, listener);
        return () => {
          stop();
          forget();
        };
      },
      follow: this.#host.follow,
    });
    // Code that opens it looks at it in this turn, or not at all.
    this.#views.set(name, view);
    setImmediate(() => {
      if (!view.isAttended) forget();
    });
    return view;
  }

  /** Tells of every event of a task, the first with the whole task, through its questions to its end. @returns stops telling */
  follow(record: TaskRecord, listener: (event: StreamEvent) => void): () => void {
    const left = new AbortController();
    void this.#tell(record, listener, left.signal);
    return () => left.abort();
  }

  async #tell(
    record: TaskRecord,
    listener: (event: StreamEvent) => void,
    left: AbortSignal,
  ): Promise<void> {
    let next: TaskRecord | undefined = record;
    for (let isFirst = true; next && !left.aborted; isFirst = false) {
      const tellsWhole = isFirst;
      const view = this.open(next);
      const hear = (event: StreamEvent): void => {
        for (const each of tellsWhole ? [event] : updatesOf(event)) listener(each);
      };
      await watchTurn(view, hear, left);
      const { status } = view.task;
      if (STATES[status.state].isFinal) return;
      next = await this.#whenOther(next, status.timestamp, left);
    }
  }

  /** A task once it has gone on from a state; `undefined` when nobody wants to know any more. */
  #whenOther(
    { owner, task }: TaskRecord,
    timestamp: string | undefined,
    left: AbortSignal,
  ): Promise<TaskRecord | undefined> {
    const key = taskKey({ ref: owner }, task.id);
    return new Promise((resolve) => {
      const end = (record?: TaskRecord): void => {
        stop();
        left.removeEventListener("abort", leave);
        resolve(record);
      };
      const leave = (): void => end();
      const look = async (): Promise<void> => {
        const record = (await this.#host.records.entry(key))?.value;
        if (record && record.task.status.timestamp !== timestamp) end(record);
      };
      // The listener is called again when a store that was away is back.
      const lookSoon = (): void => void look().catch(() => {});
      const stop = this.onWrite(key, lookSoon);
      left.addEventListener("abort", leave, { once: true });
      if (left.aborted) leave();
      lookSoon();
    });
  }

  /** Calls back when any replica wrote a task, by its key. @returns ends that */
  onWrite(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners)
        this.#listeners.delete(key);
    };
  }
}

/** Until it is settled, or nobody wants to know any more. */
async function watchTurn(
  view: QueuedTask,
  listener: (event: StreamEvent) => void,
  left: AbortSignal,
): Promise<void> {
  let stop = (): void => {};
  await new Promise<void>((resolve) => {
    left.addEventListener("abort", () => resolve(), { once: true });
    stop = view.watch((event) => {
      listener(event);
      if (isSettled(view.task.status.state)) resolve();
    });
  });
  stop();
}

/** A task that goes on is told as a change of the one that was told before. */
function updatesOf(event: StreamEvent): readonly StreamEvent[] {
  if (!("task" in event)) return [event];
  const { id: taskId, contextId, status, artifacts = [] } = event.task;
  const ids = { taskId, ...(contextId !== undefined && { contextId }) };
  return [
    ...artifacts.map((artifact) => ({ artifactUpdate: { ...ids, artifact } })),
    { statusUpdate: { ...ids, status } },
  ];
}
