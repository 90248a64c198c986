import type { StreamEvent, Task } from "propylon/contract";
import { isSettled } from "../../contract/states.ts";

type Listener = (event: StreamEvent) => void;

/** Who hears of a task, and what they know of it: behind what is, as long as that is not in the store. */
export class TaskAudience {
  readonly #hear: Listener;
  #watchers: Set<Listener> | undefined;
  #task: Task;
  #settled = deferred<Task>();
  /** Resolves when what is to be told was confirmed, and told. */
  #telling: Promise<void> | undefined;

  /** @param hear hears every event, those after a wait included */
  constructor(task: Task, hear: Listener) {
    this.#task = task;
    this.#hear = hear;
    if (isSettled(task.status.state)) this.#settled.resolve(task);
  }

  /** As others know it. */
  get task(): Task {
    return this.#task;
  }

  /** Resolves when everything that happened so far is known to others. */
  get confirmed(): Promise<void> | undefined {
    return this.#telling;
  }

  get settled(): Promise<Task> {
    return this.#settled.promise;
  }

  watch(listener: Listener): () => void {
    listener({ task: this.#task });
    if (!isSettled(this.#task.status.state)) (this.#watchers ??= new Set()).add(listener);
    return () => void this.#watchers?.delete(listener);
  }

  /** A message was taken. */
  show(task: Task): void {
    if (!this.#telling) this.#task = task;
  }

  /** The task goes on: it will be settled once more. */
  goOn(): void {
    this.#settled = deferred<Task>();
  }

  /**
   * Tells of an event, and of the task as it is behind it, in order.
   * @param confirmed to wait for
   * @param lost tells in place of it when that rejects
   */
  tell(
    event: StreamEvent,
    task: Task,
    confirmed: Promise<void> | undefined,
    lost: () => void,
  ): void {
    if (!confirmed && !this.#telling) return this.#tell(event, task, this.#settled);
    const settled = this.#settled;
    const telling = Promise.all([confirmed, this.#telling])
      .then(() => this.#tell(event, task, settled), lost)
      .finally(() => {
        if (this.#telling === telling) this.#telling = undefined;
      });
    this.#telling = telling;
  }

  #tell(event: StreamEvent, task: Task, settled: Deferred<Task>): void {
    this.#task = task;
    this.#hear(event);
    for (const watcher of this.#watchers ?? []) watcher(event);
    if (!isSettled(task.status.state)) return;
    this.#watchers = undefined;
    settled.resolve(task);
  }

  /** Tells of what this replica does not put into the store, whatever else waits to be told. */
  tellNow(event: StreamEvent, task: Task): void {
    this.#tell(event, task, this.#settled);
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

/** A promise that is settled from outside; `Promise.withResolvers` is younger than Node 20. */
function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
