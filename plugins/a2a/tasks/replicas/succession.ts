import { Cancellation, pause } from "propylon/kit";
import { STATES, type Message, type StreamEvent } from "propylon/contract";
import type { SendOptions, TaskOwner } from "../../service.ts";
import type { LiveTask, LiveTaskOptions } from "../task/live-task.ts";
import { ABANDONED, refuseAtReplica } from "../task/refusals.ts";
import { isUnderWay, knowsIdOf, rewind, type TaskRecord } from "../task/task-record.ts";
import type { TaskRecords } from "../task/task-records.ts";
import type { TaskStore } from "../task/task-store.ts";

/** How often a task that another replica is at is looked at, in milliseconds. */
const LOOK_MS = 250;

/** What the tasks of this runtime offer their successors. */
export interface SuccessionHost {
  readonly store: TaskStore;
  readonly records: TaskRecords;
  make(given: Omit<LiveTaskOptions, "most" | "hear" | "confirm">): LiveTask;
  finish(task: LiveTask, move: () => void): void;
  tell(task: LiveTask, event: StreamEvent): void;
  /** Whether a queue has a task begun again whose replica died. */
  isHandedOut(record: TaskRecord): boolean;
  /** Sees to it that a task whose replica died is in that queue. */
  putBack(record: TaskRecord): Promise<void>;
  /** Whether a task can be answered here. */
  waits(task: LiveTask): boolean;
}

/** How tasks of a process before this one, or of another replica, come to be this runtime's. */
export class Succession {
  readonly #host: SuccessionHost;
  /** At work at another replica when they were looked at last, by owner and id. */
  readonly #atOthers = new Map<string, { readonly id: string; readonly owner: TaskOwner }>();
  #isLoaded = false;

  constructor(host: SuccessionHost) {
    this.#host = host;
  }

  /** Takes over what is there: tasks that ended or wait for somebody. What was under way has failed. */
  async load(): Promise<void> {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    await this.#inherit(await this.#host.records.load());
  }

  /**
   * Before a task is looked at or ended: finds it in the store, unless it is at work here or has ended.
   * @returns what is stored of it when another replica is at it
   * @throws {GatewayError} `unavailable`, for a task that is not here
   */
  async locate(id: string, owner: TaskOwner): Promise<TaskRecord | undefined> {
    const { store, records } = this.#host;
    const known = store.find(id, owner);
    if (known && (known.isFinal || known.isAsking || !this.#host.waits(known))) return undefined;
    // One that waits is shown as it was last, while the store is away.
    const record = await records.find(id, owner).catch((error: unknown) => {
      if (!known) throw error;
    });
    if (!record || (known && records.isOwn(record))) return undefined;
    // Another replica went on with it: what is here is outdated.
    if (known) store.drop(known);
    return (await this.#takeOver(record)) ? undefined : record;
  }

  /** Takes over what other replicas left that died since. */
  async sweep(): Promise<void> {
    await this.#host.records.takeOver((found) => this.#inherit(found));
    for (const { id, owner } of this.#atOthers.values()) {
      const record = await this.#host.records.find(id, owner);
      if (record) await this.#takeOver(record);
      else this.#atOthers.delete(keyOf(id, owner));
    }
  }

  /**
   * Before anything is done about a message: finds its task in the store, where another replica may have left it, and makes sure
   * that the store is there and the task this replica's to go on with.
   * @throws {GatewayError} `unavailable`; `exists` for a message to a task that another replica is at
   */
  async fetch(message: Message, options: SendOptions): Promise<void> {
    const { store } = this.#host;
    const id = options.id ?? message.taskId;
    if (id === undefined) return;
    const known = store.find(id, options.principal);
    if (!known) await this.#await(id, message, options);
    else if (this.#host.waits(known) && !known.isAsking && !known.hasTaken(message))
      await this.#claim(known, message, options);
  }

  /**
   * A task that its replica left under way, as it was before it took its last message; that may be delivered again.
   * @returns whether anything was before
   */
  rewind(task: LiveTask): boolean {
    const { records, store } = this.#host;
    const before = rewind(task.toRecord(records.replica));
    store.drop(task);
    if (before) this.restore(before);
    return before !== undefined;
  }

  /** The same message delivered again waits for the replica that is at it; any other is refused. */
  async #await(id: string, message: Message, { principal, signal }: SendOptions): Promise<void> {
    for (;;) {
      const record = await this.#host.records.find(id, principal);
      if (!record || (await this.#takeOver(record))) return;
      if (!knowsIdOf(record, message.messageId)) throw refuseAtReplica();
      await pause(LOOK_MS, signal ?? new Cancellation());
      if (signal?.aborted) throw signal.reason;
    }
  }

  async #claim(task: LiveTask, message: Message, options: SendOptions): Promise<void> {
    const { store, records } = this.#host;
    if (await records.claim(task)) return;
    // Another replica went on with it: what is here is outdated.
    store.drop(task);
    await this.fetch(message, options);
  }

  /** What a dead replica may have left: fails, unless a queue hands it out again. */
  async #inherit(found: readonly TaskRecord[]): Promise<void> {
    // What ended comes first: those ends are known from here on, and would not be looked at again behind a failure.
    for (const record of found) if (!isUnderWay(record)) await this.#takeOver(record);
    for (const record of found.filter(isUnderWay))
      if (!(await this.#takeOver(record)) && this.#host.isHandedOut(record))
        await this.#host.putBack(record);
  }

  /** @returns whether it is this replica's now */
  async #takeOver(record: TaskRecord): Promise<boolean> {
    const { store, records } = this.#host;
    const { task } = record;
    const owner = { ref: record.owner };
    const { isFinal } = STATES[task.status.state];
    const isSettled = !isUnderWay(record);
    const isQueues = !isSettled && this.#host.isHandedOut(record);
    if (!isSettled && (isQueues || records.isOwn(record) || (await records.isAtOther(record)))) {
      if (!isQueues) this.#atOthers.set(keyOf(task.id, owner), { id: task.id, owner });
      records.forget({ id: task.id, owner });
      return false;
    }
    this.#atOthers.delete(keyOf(task.id, owner));
    if (store.find(task.id, owner)) return true;
    const live = this.restore(record);
    if (!isSettled) this.#host.finish(live, () => abandon(live));
    else if (isFinal) store.file(live);
    store.weigh(live);
    if (isSettled) this.#host.tell(live, { task });
    return true;
  }

  /** Makes a task of this replica of what is stored. */
  restore(record: TaskRecord): LiveTask {
    const { store } = this.#host;
    const { task, skill, owner } = record;
    const contextId = task.contextId!;
    const live = this.#host.make({ id: task.id, contextId, owner: { ref: owner }, skill, record });
    store.add(live);
    for (const place of record.taken) {
      const message = task.history?.[place];
      if (message) store.note(live, message);
    }
    return live;
  }
}

/** Nobody works on it any more. */
function abandon(task: LiveTask): void {
  task.isAbandoned = true;
  task.move("failed", [{ text: ABANDONED }], { code: "cancelled" });
}

function keyOf(id: string, { ref }: TaskOwner): string {
  return JSON.stringify([ref, id]);
}
