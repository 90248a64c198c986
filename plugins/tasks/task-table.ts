import { GatewayError, isGatewayError } from "propylon";
import type { Store } from "propylon/store";
import { toEnd } from "./end.ts";
import { JobRecords } from "./jobs/job-records.ts";
import { type FinalState, finalOf, OwnTask, type TaskHome } from "./own-task.ts";
import { showReplicaTask, type TaskQuestions } from "./replica-task.ts";
import type { SharedTask, TaskLimits, TaskRequest, TaskTable } from "./service.ts";
import { interrupted, type OwnTaskRecord, ownTaskSchema } from "./task-record.ts";
import { TaskMemory } from "./task-memory.ts";

/** How long the last ends may take to be written when everything ends, in milliseconds. */
const CLOSE_MS = 1_000;

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * The tasks of one kind: bounded in number and bytes, forgotten after a while, each its owner's. Where the gateway has a store that
 * outlives its process nothing is told that is not stored.
 */
export class OwnTasks implements TaskTable, TaskHome {
  readonly kind: string;
  readonly #records: JobRecords<OwnTask, OwnTaskRecord>;
  readonly #memory: TaskMemory;
  readonly #questions: TaskQuestions;
  /** Those that go on at their servers, and that nobody waits for yet. */
  readonly #resting = new Set<OwnTask>();
  #run: ((task: OwnTask) => void) | undefined;
  #isLoaded = false;

  constructor(kind: string, limits: TaskLimits, store: Store, questions: TaskQuestions) {
    this.kind = kind;
    this.#questions = questions;
    this.#records = new JobRecords(store, kind, {
      schema: ownTaskSchema,
      isUnderWay: ({ state }) => state === "working",
      toRecord: (task, replica) => task.toRecord(replica),
    });
    this.#memory = new TaskMemory(limits, (task) => void this.#records.delete(task));
  }

  get limits(): TaskLimits {
    return this.#memory.limits;
  }

  set limits(limits: TaskLimits) {
    this.#memory.limits = limits;
  }

  get counts(): TaskTable["counts"] {
    return this.#memory.counts;
  }

  get ttl(): number {
    return this.limits.ttl;
  }

  async load(): Promise<void> {
    if (this.#isLoaded || !this.#records.isKept) return;
    this.#takeIn(await this.#records.load());
    this.#isLoaded = true;
  }

  /** Takes in what replicas left that are gone. */
  async takeOver(): Promise<void> {
    if (this.#isLoaded) await this.#records.takeOver(async (found) => this.#takeIn(found));
  }

  async begin(request: TaskRequest): Promise<OwnTask> {
    this.#memory.makeRoom(request.principal);
    const task = new OwnTask(this, request);
    this.#memory.add(task);
    try {
      await this.save(task);
    } catch (error) {
      this.#memory.forget(task);
      throw error;
    }
    return task;
  }

  /** The task of an owner, at whichever replica. */
  async find(id: string, owner: string): Promise<SharedTask | undefined> {
    return this.#memory.get(id) ? this.findHere(id, owner) : this.#findStored(id, owner);
  }

  /** A task that this replica has. */
  findHere(id: string, owner: string): OwnTask | undefined {
    const task = this.#memory.get(id);
    return task?.owner.ref === owner ? task : undefined;
  }

  /** Has somebody wait for the tasks that go on at their servers, be they of a process before or of a replica that is gone. */
  resume(run: (task: OwnTask) => void): void {
    this.#run = run;
    for (const task of this.#resting) if (!task.isOver) run(task);
    this.#resting.clear();
  }

  /** The gateway ends: what goes on at its server is left as it is stored. */
  rest(): void {
    if (!this.#records.isKept) return;
    for (const task of this.#memory.running) if (task.origin) task.rest();
  }

  save(task: OwnTask, persists = false): Promise<void> {
    return this.#records.save(task, { persists });
  }

  async cancel(task: OwnTask): Promise<void> {
    // Its end may be about to be written, for as long as the store is away: this write tells that at once.
    while (task.ending) {
      await this.save(task);
      await task.ending;
    }
    if (task.isOver) return;
    const endedAt = new Date().toISOString();
    await this.conclude(task, { state: "cancelled", endedAt, end: undefined }, false);
    task.abort();
  }

  async forget(task: OwnTask): Promise<void> {
    await this.#records.delete(task, { persists: false });
    this.#memory.forget(task);
  }

  drop(task: OwnTask): void {
    this.#memory.forget(task);
  }

  /** Writes an end down, and then lets it count. It may have been cancelled or forgotten meanwhile. */
  async conclude(task: OwnTask, given: FinalState, persists: boolean): Promise<void> {
    if (task.isOver || !this.#memory.has(task)) return;
    const final = this.#fitting(task, given);
    try {
      const write = () => (this.#records.isKept ? this.save(task, persists) : undefined);
      await task.endWith(final, write, () => {
        if (!task.isOver && this.#memory.has(task)) this.#memory.settle(task, final);
      });
    } catch (error) {
      await this.#yield(task, error);
    }
  }

  cancelAll(): void {
    this.rest();
    for (const task of this.#memory.running) {
      if (task.isResting) continue;
      const endedAt = new Date().toISOString();
      if (this.#records.isKept) this.#interrupt(task);
      else this.#memory.settle(task, { state: "cancelled", endedAt, end: undefined });
      task.abort();
    }
  }

  /** Ends everything; what is stored stays. */
  async close(): Promise<void> {
    this.cancelAll();
    await this.#records.close(CLOSE_MS);
    this.#memory.clear();
  }

  /** A result beyond the bounds is not kept; its task says so. */
  #fitting(task: OwnTask, final: FinalState): FinalState {
    if (this.#memory.takes(task.owner, final.end)) return final;
    const end = toEnd(
      new GatewayError("too_large", "The result is too large to be kept.", {
        hint: "Ask for less at once, or make the call without tasks.",
      }),
    );
    return { ...final, state: "failed", end };
  }

  #interrupt(task: OwnTask): void {
    const endedAt = new Date().toISOString();
    this.#memory.settle(task, { state: "failed", endedAt, end: interrupted() });
    this.#claim(task);
  }

  #takeIn(found: readonly OwnTaskRecord[]): void {
    for (const record of found.toSorted(byEnd))
      if (!this.#memory.get(record.id)) this.#restore(record);
    this.#memory.trim();
  }

  #restore(record: OwnTaskRecord): OwnTask {
    const task = new OwnTask(this, record);
    this.#memory.add(task);
    if (task.isOver) return task;
    if (!task.origin) {
      this.#interrupt(task);
      return task;
    }
    this.#claim(task);
    if (this.#run) this.#run(task);
    else this.#resting.add(task);
    return task;
  }

  /** Of several replicas that take over a task one goes on with it. */
  #claim(task: OwnTask): void {
    this.save(task, true)
      .catch((error: unknown) => this.#yield(task, error).then(() => task.rest()))
      .catch(() => {});
  }

  /** Another replica took this one for lost and has told the task's end: that counts. */
  async #yield(task: OwnTask, error: unknown): Promise<void> {
    if (!isGatewayError(error) || error.code !== "exists") throw error;
    const entry = await this.#records.kv.get(task.id);
    if (entry && !this.#records.isUnderWay(entry.value))
      this.#memory.settle(task, finalOf(entry.value));
    else this.#memory.forget(task, false);
  }

  /** A task that is not here, as another replica tells of it, or as it was stored last. */
  async #findStored(id: string, owner: string): Promise<SharedTask | undefined> {
    if (!this.#records.isShared || !UUID.test(id)) return undefined;
    const entry = await this.#records.kv.get(id);
    if (entry?.value.owner !== owner) return undefined;
    const { value: record } = entry;
    if (!this.#records.isUnderWay(record)) return new OwnTask(this, record);
    if (!(await this.#records.isAtOther(record))) {
      this.#records.adopt(entry);
      return this.#memory.get(id) ?? this.#restore(record);
    }
    const { kind, ttl } = this;
    const watch: SharedTask["watch"] = (listener) => this.#watchRecord(id, listener);
    const task = await showReplicaTask(record, { kind, ttl, watch }, this.#questions);
    if (task) return task;
    const ended = await this.#records.kv.get(id);
    return ended && new OwnTask(this, ended.value);
  }

  #watchRecord(id: string, listener: () => void): () => void {
    const watching = this.#records.kv.watch(id, listener).catch(() => undefined);
    return () => void watching.then((end) => end?.());
  }
}

/** Those that ended, in the order in which they did; then the others. */
function byEnd(a: OwnTaskRecord, b: OwnTaskRecord): number {
  const [left, right] = [a.endedAt ?? "~", b.endedAt ?? "~"];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
