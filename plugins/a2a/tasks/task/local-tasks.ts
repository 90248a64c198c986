import { randomUUID } from "node:crypto";
import { GatewayError, isGatewayError } from "propylon";
import { STATES, type Message, type StreamEvent, type Task } from "propylon/contract";
import type { SendOptions, TaskOwner } from "../../service.ts";
import { pickSkill } from "./skills.ts";
import { LiveTask, type LiveTaskOptions } from "./live-task.ts";
import { NO_ANSWER, unknownTask } from "./refusals.ts";
import { TaskCounts } from "./task-metrics.ts";
import type { TaskRecord } from "./task-record.ts";
import type { TaskRecords } from "./task-records.ts";
import { TaskStore } from "./task-store.ts";
import { TasksAtWork, type TaskDependencies } from "./tasks-at-work.ts";

/** Hears of every event of every task, and of the task as it is behind it. */
export type TaskWatcher = (task: Task, event: StreamEvent, owner: TaskOwner) => void;
/** Hears of a task that is kept no longer. */
export type DropListener = (id: string, owner: TaskOwner) => void;

/** The tasks of this replica from their first message until they are kept no longer. Lives through reloads of the plugin. */
export class LocalTasks {
  /** How tasks ended, since the process started. */
  readonly counts = new TaskCounts();
  readonly store = new TaskStore();
  readonly atWork = new TasksAtWork({
    dependencies: () => this.current,
    isDraining: () => this.isDraining,
    finish: (task, move) => this.finish(task, move),
  });
  readonly records: TaskRecords;
  isDraining = false;
  readonly #watchers = new Set<TaskWatcher>();
  readonly #dropListeners = new Set<DropListener>();
  #dependencies: TaskDependencies | undefined;

  constructor(records: TaskRecords) {
    this.records = records;
  }

  /** Works with these from now on; the returned function goes back, for a reload that fails. */
  adopt(dependencies: TaskDependencies): () => void {
    const before = this.#dependencies;
    this.#dependencies = dependencies;
    return () => {
      if (this.#dependencies === dependencies && before) this.#dependencies = before;
    };
  }

  /** @throws {GatewayError} `disabled` before there was any skill */
  get current(): TaskDependencies {
    if (this.#dependencies) return this.#dependencies;
    throw new GatewayError("disabled", "This runtime has no skills.", {
      hint: "Add plugins.a2a.skills.",
    });
  }

  find(id: string, principal: TaskOwner): LiveTask | undefined {
    return this.store.find(id, principal);
  }

  /** @throws {GatewayError} `not_found` */
  get(id: string, principal: TaskOwner): LiveTask {
    const task = this.find(id, principal);
    if (task) return task;
    throw unknownTask();
  }

  /** A task of a first message, which nobody knows yet. @throws {GatewayError} `not_found` for a skill that is not there */
  create(message: Message, { id, principal, skill, metadata }: SendOptions): LiveTask {
    const wanted = skill ?? message.metadata?.["skill"] ?? metadata?.["skill"];
    const { options } = pickSkill(this.current.skills, wanted, principal);
    return this.make({
      id: id ?? randomUUID(),
      contextId: message.contextId ?? randomUUID(),
      owner: principal,
      skill: options.id,
    });
  }

  make(given: Omit<LiveTaskOptions, "most" | "hear" | "confirm">): LiveTask {
    const { isKept } = this.records;
    const task: LiveTask = new LiveTask({
      ...given,
      most: this.current.options.maxTaskSize,
      hear: (event) => this.#hear(task, event),
      confirm: isKept ? () => this.#keepEnd(task) : undefined,
    });
    return task;
  }

  /** A task as it is stored, which nobody is told of. */
  read(record: TaskRecord): LiveTask {
    const { task, owner, skill } = record;
    return new LiveTask({
      id: task.id,
      contextId: task.contextId!,
      owner: { ref: owner },
      skill,
      most: this.current.options.maxTaskSize,
      record,
    });
  }

  /** What is here of a task is outdated. */
  forgetKnown({ task: { id }, owner }: TaskRecord): void {
    const known = this.find(id, { ref: owner });
    if (known) this.store.drop(known);
  }

  /** Another replica goes on with a task: what is here must not be removed from the store when its time is over. */
  forgetHere(task: LiveTask): void {
    this.store.drop(task);
    this.records.forget(task);
  }

  /** Whether a task waits for a message. One that was cancelled while it waited may have work that still ends. */
  waits(task: LiveTask): boolean {
    return STATES[task.state].isInterrupted && (task.isAsking || !this.atWork.has(task));
  }

  finish(task: LiveTask, move: () => void): void {
    move();
    this.store.weigh(task);
    if (!task.isFinal || task.isForeign) return;
    this.counts.count(task);
    this.store.file(task);
    this.makeRoom();
  }

  /** Drops what is kept no longer, or beyond the bounds. */
  makeRoom(now?: number): void {
    this.store.sweep(this.current.options, this.#drop, now);
  }

  /** Drops what is kept no longer; who waited too long for an answer fails. */
  sweep(now: number): void {
    const { ttl } = this.current.options;
    for (const task of this.store) {
      if (!STATES[task.state].isInterrupted || now - task.changedAt <= ttl) continue;
      if (task.isAsking) task.cancellation.abort(new GatewayError("timeout", NO_ANSWER));
      else this.finish(task, () => task.move("failed", [{ text: NO_ANSWER }]));
    }
    this.makeRoom(now);
  }

  /** @returns stops telling */
  watchAll(listener: TaskWatcher): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** @returns stops telling */
  watchDropped(listener: DropListener): () => void {
    this.#dropListeners.add(listener);
    return () => void this.#dropListeners.delete(listener);
  }

  tell(task: LiveTask, event: StreamEvent): void {
    for (const watcher of this.#watchers) watcher(task.task, event, task.owner);
  }

  /**
   * Two replicas may end a task whose replica died: what is stored first is its end. One of a queue goes on at the replica that was
   * handed it meanwhile.
   */
  async #keepEnd(task: LiveTask): Promise<void> {
    try {
      await this.records.save(task, { persists: true });
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "exists") throw error;
      if (task.queued) task.isForeign = true;
      else if (!(await this.#showEnd(task))) this.forgetHere(task);
      throw error;
    }
  }

  /** Shows the end that another replica stored. @returns whether there is one */
  async #showEnd(task: LiveTask): Promise<boolean> {
    const record = await this.records.find(task.id, task.owner);
    const hasEnd = record !== undefined && STATES[record.task.status.state].isFinal;
    if (hasEnd) task.endAs(record);
    return hasEnd;
  }

  readonly #drop = (task: LiveTask): void => {
    void this.records.delete(task);
    for (const listener of this.#dropListeners) listener(task.id, task.owner);
  };

  #hear(task: LiveTask, event: StreamEvent): void {
    if (this.atWork.noteAsking(task)) this.store.weigh(task);
    this.tell(task, event);
  }
}
