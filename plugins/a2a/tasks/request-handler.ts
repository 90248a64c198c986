import { GatewayError, isGatewayError, type Principal } from "propylon";
import type { KeptPrincipal } from "propylon/internal";
import type { Store } from "propylon/store";
import type { Message, StreamEvent, Task } from "propylon/contract";
import type {
  ListedTask,
  TaskOwner,
  RunningTask,
  RuntimeService,
  SendOptions,
  TaskFilter,
} from "../service.ts";
import { ReplicaTasks } from "./replicas/replica-tasks.ts";
import { HereExecution } from "./here-execution.ts";
import type { LiveTask } from "./task/live-task.ts";
import { type DropListener, LocalTasks, type TaskWatcher } from "./task/local-tasks.ts";
import { Succession } from "./replicas/succession.ts";
import { TaskRecords } from "./task/task-records.ts";
import { QueueExecution, type QueueDependencies } from "./replicas/queue-execution.ts";
import { createQueueHost } from "./replicas/queue-host.ts";
import { inMotion, NOT_LET_IN, refuseCancel } from "./task/refusals.ts";
import { TaskListing } from "./task-listing.ts";
import type { TaskCounts } from "./task/task-metrics.ts";
import type { TaskDependencies } from "./task/tasks-at-work.ts";
import type { Work } from "./task/work.ts";

/** How long the end waits for what is being written, in milliseconds. */
const LAST_MS = 2_000;

/** The tasks of this runtime, for every dialect alike. Lives through reloads of the plugin. */
export class RequestHandler implements RuntimeService {
  readonly #records: TaskRecords;
  readonly #tasks: LocalTasks;
  readonly #succession: Succession;
  readonly #others: ReplicaTasks;
  readonly #here: HereExecution;
  readonly #listing: TaskListing;
  /** Set where any replica may work on a task. */
  #queue: QueueExecution | undefined;
  readonly #leaving = new Set<() => void>();
  #renew: QueueDependencies["renew"] = () => undefined;

  /** @param store where tasks outlive the process, if they do */
  constructor(store: Store) {
    this.#records = new TaskRecords(store);
    this.#tasks = new LocalTasks(this.#records);
    this.#others = new ReplicaTasks(store);
    this.#listing = new TaskListing({
      store: this.#tasks.store,
      records: this.#records,
      others: this.#others,
    });
    this.#succession = new Succession({
      store: this.#tasks.store,
      records: this.#records,
      make: (given) => this.#tasks.make(given),
      finish: (task, move) => this.#tasks.finish(task, move),
      tell: (task, event) => this.#tasks.tell(task, event),
      waits: (task) => this.#tasks.waits(task),
      isHandedOut: (record) => this.#queue !== undefined && record.queued !== undefined,
      putBack: async (record) => this.#queue?.putBack(record),
    });
    this.#here = new HereExecution(this.#tasks, this.#succession);
  }

  /** How tasks ended, since the process started. */
  get counts(): TaskCounts {
    return this.#tasks.counts;
  }

  /** Takes over the tasks of a process before this one; see {@link Succession}. */
  async load(): Promise<void> {
    await this.#succession.load();
    this.#tasks.makeRoom();
  }

  /** Tells other replicas of tasks at work here. @returns ends that */
  serveOthers(): Promise<() => void> {
    return this.#others.serve(this);
  }

  /**
   * Has messages worked on by whichever replica has room.
   * @returns begins to take tasks here, and returns what ends all that
   */
  handOut(dependencies: QueueDependencies): () => Promise<() => void> {
    const host = createQueueHost({
      tasks: this.#tasks,
      others: this.#others,
      succession: this.#succession,
      send: (message, options) => this.#here.send(message, options),
      watch: (id, owner, listener) => this.watch(id, owner, listener),
    });
    const queue = new QueueExecution(host, dependencies);
    this.#queue = queue;
    this.#renew = dependencies.renew;
    return async () => {
      const leave = await queue.start();
      this.#leaving.add(leave);
      return () => {
        leave();
        this.#leaving.delete(leave);
        // A reload sets up the next one before it ends this one.
        if (this.#queue === queue) this.#queue = undefined;
      };
    };
  }

  /** Works with these from now on; the returned function goes back, for a reload that fails. */
  adopt(dependencies: TaskDependencies): () => void {
    return this.#tasks.adopt(dependencies);
  }

  get isDraining(): boolean {
    return this.#tasks.isDraining;
  }

  /** Every task kept. */
  get tasks(): Iterable<LiveTask> {
    return this.#tasks.store;
  }

  /** The work that a call of one of our own tools is about; `undefined` when it is not about a task. */
  workOf(peerKey: string): Work | undefined {
    return this.#tasks.atWork.workOf(peerKey);
  }

  async send(message: Message, options: SendOptions): Promise<RunningTask> {
    if (this.isDraining) throw new GatewayError("draining", "The runtime is shutting down.");
    try {
      return await (this.#queue ?? this.#here).send(message, options);
    } catch (error) {
      if (isGatewayError(error) && error.code === "rate_limited") this.counts.refusals.inc();
      throw error;
    }
  }

  /** {@link get} for those who look at other places, too. */
  find(id: string, principal: TaskOwner): LiveTask | undefined {
    return this.#tasks.find(id, principal);
  }

  /** Milliseconds for which a task that ended is kept. */
  get ttl(): number {
    return this.#tasks.current.options.ttl;
  }

  get(id: string, principal: TaskOwner): LiveTask {
    return this.#tasks.get(id, principal);
  }

  async look(id: string, principal: TaskOwner): Promise<Task> {
    const record = await this.#succession.locate(id, principal);
    return record ? this.#others.look(record) : this.get(id, principal).task;
  }

  list(filter: TaskFilter, principal: Principal): readonly Task[] {
    return this.#tasks.store.list(filter, principal);
  }

  listAll(filter: TaskFilter, principal: TaskOwner): Promise<readonly ListedTask[]> {
    return this.#listing.listAll(filter, principal);
  }

  async follow(
    id: string,
    principal: TaskOwner,
    listener: (event: StreamEvent) => void,
    lost: (error: GatewayError) => void,
  ): Promise<() => void> {
    const record = await this.#succession.locate(id, principal);
    const queued = this.#queue && (record ?? (await this.#records.read(id, principal)));
    if (queued) return this.#queue!.follow(queued, listener);
    if (record) return this.#others.follow(record, listener, lost);
    return this.watch(id, principal, listener);
  }

  watch(id: string, { ref }: TaskOwner, listener: (event: StreamEvent) => void): () => void {
    listener({ task: this.get(id, { ref }).task });
    // A task that waits goes on with the next message, in a new turn.
    return this.watchAll((changed, event, owner) => {
      if (owner.ref === ref && changed.id === id && !("task" in event)) listener(event);
    });
  }

  async cancel(id: string, principal: TaskOwner): Promise<Task> {
    const record = await this.#succession.locate(id, principal);
    if (record?.replica === "")
      return (await this.#queue?.cancel(record)) ?? this.cancel(id, principal);
    // It is on its way to or from this replica.
    if (record && this.#records.isOwn(record)) throw inMotion();
    if (record) return this.#others.cancel(record);
    const task = this.get(id, principal);
    if (task.isFinal) throw refuseCancel(task);
    await this.#tasks.atWork.end(task);
    if (task.state !== "canceled") throw refuseCancel(task);
    await task.confirmed;
    return task.task;
  }

  watchAll(listener: TaskWatcher): () => void {
    return this.#tasks.watchAll(listener);
  }

  watchDropped(listener: DropListener): () => void {
    return this.#tasks.watchDropped(listener);
  }

  async answer(message: Message, sender: KeptPrincipal): Promise<void> {
    const principal = this.#renew(sender);
    if (!principal) throw NOT_LET_IN;
    await this.#here.send(message, { principal });
  }

  /** Takes no more messages; what is at work goes on, except for what waits for one. */
  drain(): void {
    this.#tasks.isDraining = true;
    for (const leave of this.#leaving) leave();
    this.#tasks.atWork.drain();
  }

  /** Ends everything at work, and waits until nothing of it goes on. */
  async close(): Promise<void> {
    this.drain();
    this.#queue?.handBack();
    await this.#tasks.atWork.close();
    await this.#records.close(LAST_MS);
  }

  /** Drops what is kept no longer; who waited too long for an answer fails. */
  sweep(now = Date.now()): void {
    this.#tasks.sweep(now);
    // The store may be away: the next time will do.
    this.#succession.sweep().catch(() => {});
  }
}
