import type { Principal } from "propylon";
import { Recent } from "propylon/kit";
import type { KeptPrincipal } from "propylon/internal";
import { storeKey, type WorkQueue } from "propylon/store";
import type { Message, StreamEvent, Task } from "propylon/contract";
import type { Logger } from "pino";
import type { A2aOptions } from "../../options.ts";
import type { RunningTask, SendOptions } from "../../service.ts";
import { Backlog } from "./backlog.ts";
import type { LiveTask } from "../task/live-task.ts";
import type { QueuedTaskHost } from "./queued-task.ts";
import { QueuedTasks } from "./queued-tasks.ts";
import { refuseLost, refuseMessage, refuseReuse, unknownTask } from "../task/refusals.ts";
import { isUnderWay, rewind, type TaskRecord } from "../task/task-record.ts";
import { taskKey } from "../task/task-records.ts";
import { QueueWorker, type QueueWorkerHost } from "./queue-worker.ts";

/** Messages without a task whose ids are remembered: the same again meets its task. */
const MAX_SENT = 10_000;

/** What tasks are handed out with. */
export interface QueueDependencies {
  readonly queue: WorkQueue;
  readonly log: Logger;
  readonly renew: (sender: KeptPrincipal) => Principal | undefined;
}

/** What the tasks of this runtime offer. */
export interface QueueHost extends Omit<QueueWorkerHost, "queue" | "log" | "renew" | "onWrite"> {
  readonly options: () => A2aOptions["tasks"];
  readonly follow: QueuedTaskHost["follow"];
  /** A task of a first message, which nobody knows yet. @throws {GatewayError} `not_found` for an unknown skill */
  create(message: Message, options: SendOptions): LiveTask;
  /** A task of what is stored, which nobody is told of. */
  read(record: TaskRecord): LiveTask;
  /** Hands a message to a call that waits for it, here or at another replica. */
  answer(record: TaskRecord, message: Message, options: SendOptions): Promise<void>;
  /** Ends a task that waited for a replica; `undefined` when one took it meanwhile. */
  cancel(task: LiveTask): Promise<Task | undefined>;
  /** Drops what is here of an earlier task. */
  forgetKnown(record: TaskRecord): void;
}

/** How messages are taken where any replica may do the work. */
export class QueueExecution {
  readonly #host: QueueHost;
  readonly #pieces: WorkQueue;
  readonly #queue: QueueWorker;
  readonly #backlog: Backlog;
  readonly #views: QueuedTasks;
  /** Ids of tasks by the messages that began them. */
  readonly #sent = new Recent<string>(MAX_SENT);

  constructor(host: QueueHost, { queue, log, renew }: QueueDependencies) {
    this.#host = host;
    this.#pieces = queue;
    this.#backlog = new Backlog(queue);
    this.#views = new QueuedTasks(host);
    const onWrite: QueueWorkerHost["onWrite"] = (key, listener) =>
      this.#views.onWrite(key, listener);
    this.#queue = new QueueWorker({ ...host, queue, log, renew, onWrite });
  }

  /** @returns takes no more tasks; those at work go on @throws {GatewayError} why there is no queue */
  async start(): Promise<() => void> {
    await this.#pieces.items();
    const deaf = await this.#views.start();
    const leave = this.#queue.start();
    return () => {
      leave();
      deaf();
    };
  }

  /** Takes a message when it is in the store, and hands it out. */
  async send(message: Message, options: SendOptions): Promise<RunningTask> {
    const { principal, continues } = options;
    const named = options.id ?? message.taskId;
    const id = named ?? this.#sent.get(keyOfMessage(message, principal));
    const entry = id === undefined ? undefined : await this.#entry(id, principal);
    if (!entry && options.id === undefined && message.taskId !== undefined) throw unknownTask();
    if (!entry && continues) throw refuseLost();
    if (!entry) return this.#begin(message, options, 0);
    const { value: record, rev } = entry;
    const isUnder = isUnderWay(record);
    const task = this.#host.read(record);
    // One that names no task may use the id of a message again, once that one's task is over.
    if (named === undefined && task.isFinal) return this.#begin(message, options, 0);
    if (task.hasTaken(message)) {
      const before = record.isAbandoned ? rewind(record) : undefined;
      if (before) return this.#goOn(before, message, options, rev);
      // Only who chose its id may begin it again.
      const isAnew = record.isAbandoned && options.id !== undefined;
      return isAnew ? this.#begin(message, options, rev) : this.#views.open(record);
    }
    if (isUnder && record.isAsking) return this.#answer(record, message, options);
    if (isUnder || task.isFinal)
      throw task.knowsIdOf(message) ? refuseReuse() : refuseMessage(task);
    return this.#goOn(record, message, options, rev);
  }

  /** Tells of every event of a task, through its questions to its end. @returns stops telling */
  follow(record: TaskRecord, listener: (event: StreamEvent) => void): () => void {
    return this.#views.follow(record, listener);
  }

  /** Ends a task that waits for a replica; `undefined` when it has one by now. */
  async cancel(waiting: TaskRecord): Promise<Task | undefined> {
    const { records } = this.#host;
    const entry = await this.#entry(waiting.task.id, { ref: waiting.owner });
    if (!entry || entry.value.replica !== "" || !isUnderWay(entry.value)) return undefined;
    const claimed = { ...entry.value, replica: records.replica };
    const rev = await records.swap(claimed, entry.rev);
    return rev === undefined ? undefined : this.#host.cancel(this.#host.restore(claimed));
  }

  /** Sees to it that a task is in the queue whose replica died before it was. */
  putBack(record: TaskRecord): Promise<void> {
    return this.#queue.putBack(record);
  }

  /** Gives what is at work here to other replicas. */
  handBack(): void {
    this.#queue.handBack();
  }

  async #begin(message: Message, options: SendOptions, rev: number): Promise<RunningTask> {
    return this.#hand(this.#host.create(message, options), message, options, rev);
  }

  #goOn(record: TaskRecord, message: Message, options: SendOptions, rev: number) {
    return this.#hand(this.#host.read(record), message, options, rev);
  }

  async #hand(
    task: LiveTask,
    message: Message,
    options: SendOptions,
    rev: number,
  ): Promise<RunningTask> {
    const { records } = this.#host;
    task.take(message);
    await this.#backlog.admit(task.owner, task.bytes, this.#host.options());
    const stored = task.toRecord("");
    const record = { ...stored, queued: QueueWorker.ticketFor(stored.taken.length, options) };
    await options.prepare?.(task);
    let next: number | undefined;
    try {
      next = await records.swap(record, rev);
    } catch (error) {
      // It may be there all the same.
      void this.#queue.putIfThere(record);
      throw error;
    }
    // Somebody was faster with the same task.
    if (next === undefined) return this.send(message, options);
    records.forget(task);
    this.#host.forgetKnown(record);
    await this.#queue.put(record);
    if (message.messageId !== undefined)
      this.#sent.set(keyOfMessage(message, options.principal), task.id);
    return this.#views.open(record);
  }

  /** The replica whose call asked goes on with it. */
  async #answer(record: TaskRecord, message: Message, options: SendOptions): Promise<RunningTask> {
    await this.#host.answer(record, message, options);
    const entry = await this.#entry(record.task.id, options.principal);
    if (!entry) throw unknownTask();
    return this.#views.open(entry.value);
  }

  #entry(id: string, owner: Pick<Principal, "ref">) {
    return this.#host.records.entry(taskKey(owner, id));
  }
}

function keyOfMessage({ messageId = "" }: Message, { ref }: Principal): string {
  return storeKey(ref, messageId);
}
