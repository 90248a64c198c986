import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { GatewayError } from "propylon";
import { applyEvent, type Message, type StreamEvent, type Task } from "propylon/contract";
import { stateOf } from "../../contract/task.ts";
import type { RunningTask } from "../../service.ts";
import { TaskAudience } from "../task/task-audience.ts";
import { isUnderWay, type TaskRecord } from "../task/task-record.ts";
import { isSettled } from "../../contract/states.ts";

/** Where a queued task is read. */
export interface QueuedTaskHost {
  /** As the store has it; rejects while the store is away. */
  read(): Promise<TaskRecord | undefined>;
  /** Calls back when any replica wrote it. @returns ends that */
  onWrite(listener: () => void): () => void;
  /** Tells what the replica that works on it does. @returns stops telling */
  follow(
    record: TaskRecord,
    listener: (event: StreamEvent) => void,
    lost: (error: GatewayError) => void,
  ): () => void;
}

/** A task that any replica may be at, one after the other: as the store has it, and what its replica tells in between. */
export class QueuedTask implements RunningTask {
  readonly id: string;
  reply: Message | undefined;
  readonly #host: QueuedTaskHost;
  readonly #audience: TaskAudience;
  /** The run that is followed: which replica, and which of its runs. */
  #run = "";
  #leave = (): void => {};
  #stopListening: (() => void) | undefined;
  #watchers = 0;
  /** Whether somebody waits until it is settled. */
  #isAwaited = false;
  #isReading = false;
  #isStale = false;

  constructor({ task, reply }: TaskRecord, host: QueuedTaskHost) {
    this.id = task.id;
    this.reply = reply;
    this.#host = host;
    this.#audience = new TaskAudience(task, () => {});
  }

  get task(): Task {
    return this.#audience.task;
  }

  get settled(): Promise<Task> {
    this.#isAwaited = true;
    this.#attend();
    return this.#audience.settled;
  }

  /** Whether somebody looks at it. */
  get isAttended(): boolean {
    return this.#stopListening !== undefined;
  }

  watch(listener: (event: StreamEvent) => void): () => void {
    const stop = this.#audience.watch(listener);
    this.#watchers++;
    this.#attend();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      stop();
      if (--this.#watchers === 0 && !this.#isAwaited) this.#rest();
    };
  }

  /** What nobody looks at costs nothing. */
  #attend(): void {
    if (this.isAttended || isSettled(this.task.status.state)) return;
    this.#stopListening = this.#host.onWrite(() => this.#look());
    this.#look();
  }

  #look(): void {
    this.#isStale = true;
    if (!this.#isReading) void this.#read();
  }

  /** While the store is away nothing is known; it tells of all tasks when it is back. */
  async #read(): Promise<void> {
    this.#isReading = true;
    while (this.#isStale) {
      this.#isStale = false;
      try {
        const record = await this.#host.read();
        if (record) this.#show(record);
        else this.#catchUp(this.#gone());
      } catch {
        // The listener is called when the store is back.
      }
    }
    this.#isReading = false;
  }

  /** It ended, and was dropped to make room before it was read. */
  #gone(): Task {
    const parts = [{ text: "The task has ended and is no longer kept." }];
    const message = { messageId: randomUUID(), role: "agent" as const, parts };
    const timestamp = new Date().toISOString();
    return { ...this.task, status: { state: "failed", timestamp, message } };
  }

  #show(record: TaskRecord): void {
    // It may have been settled, or left, while it was read.
    if (isSettled(this.task.status.state) || !this.isAttended) return;
    if (isSettled(record.task.status.state)) return this.#settle(record);
    const { replica, queued } = record;
    const run = `${replica} ${queued?.ticket} ${queued?.runs}`;
    if (!isUnderWay(record) || replica === "" || run === this.#run) return;
    this.#run = run;
    this.#leave();
    // When its replica dies another writes that it has it.
    const leave = this.#host.follow(
      record,
      (event) => run === this.#run && this.#hear(event),
      () => {},
    );
    // The reader may have left at the first word.
    if (run === this.#run) this.#leave = leave;
    else leave();
  }

  #hear(event: StreamEvent): void {
    const state = stateOf(event);
    // The store decides how it ended: the replica that tells may have lost it.
    if (state !== undefined && isSettled(state)) return this.#look();
    if ("task" in event) this.#catchUp(event.task);
    else this.#tell(event);
  }

  #settle({ task, reply }: TaskRecord): void {
    this.reply = reply;
    this.#catchUp(task);
  }

  /** Tells what is not known yet of a task as it is. */
  #catchUp(task: Task): void {
    const { id: taskId, contextId } = task;
    const ids = { taskId, ...(contextId !== undefined && { contextId }) };
    const before = new Map(this.task.artifacts?.map((each) => [each.artifactId, each]));
    for (const artifact of task.artifacts ?? [])
      if (!isDeepStrictEqual(before.get(artifact.artifactId), artifact))
        this.#tell({
          artifactUpdate: { ...ids, artifact, lastChunk: isSettled(task.status.state) },
        });
    if (isDeepStrictEqual(this.task.status, task.status)) return;
    this.#tell({ statusUpdate: { ...ids, status: task.status } }, task);
    if (isSettled(task.status.state)) this.#rest();
  }

  #rest(): void {
    this.#leave();
    this.#leave = () => {};
    this.#run = "";
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  #tell(event: StreamEvent, after = applyEvent(this.task, event)): void {
    this.#audience.tell(event, after, undefined, () => {});
  }
}
