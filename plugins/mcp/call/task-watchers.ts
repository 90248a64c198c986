import type { Json, Principal } from "propylon";
import type { SharedTask, TaskService } from "propylon/plugins/tasks";
import type { EndpointContext } from "../view/context.ts";
import { detailText } from "./task-form.ts";

/** Tasks that one stream may watch; of more it is told that they are not watched. */
const MAX_WATCHED = 100;

/** Who watches tasks. */
export interface TaskListener {
  readonly principal: Principal;
  /** `_meta` of what it is sent. */
  readonly meta: Json;
  /** Sends it one message. */
  send(message: string): void;
}

/** Tasks that one stream watches; each is its principal's (SEP-2663, Task Status Notifications). */
export class TaskWatchers {
  readonly #context: EndpointContext;
  readonly #listener: TaskListener;
  readonly #tasks = new Map<string, SharedTask>();
  readonly #ends = new Map<string, () => void>();
  /** What was told last, by id. */
  readonly #told = new Map<string, string>();
  #isOver = false;

  constructor(context: EndpointContext, listener: TaskListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /** Finds them. @returns the ids of those that can be watched; those of others are not among them */
  async find(ids: readonly string[]): Promise<readonly string[]> {
    const { tasks } = this.#context;
    for (const id of new Set(ids)) {
      if (!tasks || this.#isOver || this.#tasks.size >= MAX_WATCHED) break;
      const task = await this.#look(tasks, id);
      if (task) this.#tasks.set(id, task);
    }
    return [...this.#tasks.keys()];
  }

  /** Tells how each is now: it may have ended before it was watched. Then of every change, to its end. */
  start(): void {
    for (const [id, task] of this.#tasks) {
      if (this.#isOver) return;
      this.#ends.set(
        id,
        task.watch(() => void this.#changed(id, task)),
      );
      void this.#changed(id, task);
    }
  }

  /** Nobody listens any more. */
  close(): void {
    this.#isOver = true;
    for (const end of this.#ends.values()) end();
    this.#ends.clear();
  }

  async #changed(id: string, task: SharedTask): Promise<void> {
    const { tasks, host } = this.#context;
    // What runs at another replica is as it was when it was last asked for.
    const now = (tasks && (await this.#look(tasks, id))) ?? task;
    if (!tasks || this.#isOver || !this.#ends.has(id)) return;
    const what = [now.state, now.updatedAt, ...now.questions.keys()].join(" ");
    if (this.#told.get(id) === what) return;
    this.#told.set(id, what);
    const frame = { pollInterval: tasks.pollInterval, serverInfo: host.serverInfo };
    const params = detailText(now, frame, { _meta: this.#listener.meta });
    this.#listener.send(`{"jsonrpc":"2.0","method":"notifications/tasks","params":${params}}`);
    if (now.endedAt !== undefined) this.#forget(id);
  }

  #forget(id: string): void {
    this.#ends.get(id)?.();
    this.#ends.delete(id);
  }

  /** `undefined` also when it cannot be known now. */
  #look(tasks: TaskService, id: string): Promise<SharedTask | undefined> {
    return tasks.find(id, this.#listener.principal).catch(() => undefined);
  }
}
