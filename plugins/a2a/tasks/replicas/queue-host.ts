import type { GatewayError } from "propylon";
import { keepPrincipal } from "propylon/internal";
import type { Message, StreamEvent, Task } from "propylon/contract";
import type { RunningTask, SendOptions, TaskOwner } from "../../service.ts";
import type { ReplicaTasks } from "./replica-tasks.ts";
import type { LiveTask } from "../task/live-task.ts";
import type { LocalTasks } from "../task/local-tasks.ts";
import type { QueueHost } from "./queue-execution.ts";
import type { Succession } from "./succession.ts";
import type { TaskRecord } from "../task/task-record.ts";

/** Where tasks of a queue are worked on, and by whom. */
interface QueueHostParts {
  readonly tasks: LocalTasks;
  readonly others: ReplicaTasks;
  readonly succession: Succession;
  /** Hands a message to a call that waits for it here. */
  readonly send: (message: Message, options: SendOptions) => Promise<RunningTask>;
  /** Tells of every event of a task here. @throws {GatewayError} `not_found` */
  readonly watch: (
    id: string,
    owner: TaskOwner,
    listener: (event: StreamEvent) => void,
  ) => () => void;
}

/** What a queue needs to hand tasks out, and to work on those that are handed to it. */
export function createQueueHost(parts: QueueHostParts): QueueHost {
  const { tasks, others, succession } = parts;
  const { records, atWork } = tasks;
  return {
    records,
    options: () => tasks.current.options,
    create: (message, options) => tasks.create(message, options),
    read: (record) => tasks.read(record),
    restore(record) {
      tasks.forgetKnown(record);
      return succession.restore(record);
    },
    forgetKnown: (record) => tasks.forgetKnown(record),
    forget: (task) => tasks.forgetHere(task),
    async room(signal) {
      while (atWork.places >= tasks.current.options.maxRunning && !signal.aborted)
        await atWork.freed(signal);
    },
    work: (task, options) => work(tasks, task, options),
    async refuse(task, { message, code }) {
      task.isAbandoned = code === "cancelled";
      tasks.finish(task, () => task.move("failed", [{ text: message }], { code }));
      await task.confirmed;
    },
    cancel: (task) => cancel(tasks, task),
    answer: (record, message, { principal }) =>
      records.isOwn(record)
        ? parts.send(message, { principal, id: record.task.id }).then(() => {})
        : others.answer(record, message, keepPrincipal(principal)),
    follow: (record, listener, lost) =>
      records.isOwn(record)
        ? followHere(parts, record, listener, lost)
        : others.follow(record, listener, lost),
    isDraining: () => tasks.isDraining,
    count: (outcome) => tasks.counts.deliveries.inc({ outcome }),
  };
}

function work(
  tasks: LocalTasks,
  task: LiveTask,
  options: Pick<SendOptions, "principal" | "meta">,
): Promise<void> {
  tasks.atWork.reserve(task);
  tasks.tell(task, { task: task.task });
  return tasks.atWork.start(task, task.lastMessage, options);
}

/** @returns `undefined` when another replica took it meanwhile */
async function cancel(tasks: LocalTasks, task: LiveTask): Promise<Task | undefined> {
  tasks.finish(task, () => task.move("canceled"));
  await task.confirmed;
  if (!task.isForeign) return task.task;
  tasks.forgetHere(task);
  return undefined;
}

function followHere(
  { watch }: QueueHostParts,
  { task: { id }, owner }: TaskRecord,
  listener: (event: StreamEvent) => void,
  lost: (error: GatewayError) => void,
): () => void {
  try {
    return watch(id, { ref: owner }, listener);
  } catch (error) {
    lost(error as GatewayError);
    return () => {};
  }
}
