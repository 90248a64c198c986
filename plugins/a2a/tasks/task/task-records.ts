import { Departures } from "../../departures.ts";
import type { TaskOwner } from "../../service.ts";
import { within } from "propylon/kit";
import { type Entry, type Kv, Records, type Store, storeKey } from "propylon/store";
import type { LiveTask } from "./live-task.ts";
import { isUnderWay, rewind, type TaskRecord, taskRecordSchema } from "./task-record.ts";

/** How long the end waits for what is being written, in milliseconds. */
const LAST_MS = 2_000;
/** How keys begin that would be too long: they do not tell whose they are. */
const LONG = "sha256:";

/** The tasks in the gateway's store. With a store that persists nothing, nothing is done. */
export class TaskRecords {
  readonly #store: Store;
  readonly #end = new AbortController();
  readonly #kv: Kv<TaskRecord>;
  readonly #records: Records<TaskRecord>;
  readonly #departures: Departures;

  constructor(store: Store) {
    this.#store = store;
    this.#departures = new Departures(store);
    this.#kv = store.kv("tasks", { schema: taskRecordSchema });
    this.#records = new Records(store, "tasks", {
      schema: taskRecordSchema,
      signal: this.#end.signal,
      owns: ({ replica }) => !store.shared || replica === store.replica,
    });
  }

  /** Whether other gateways have tasks, too. */
  get isShared(): boolean {
    return this.#store.shared;
  }

  /** Whether tasks survive the process. */
  get isKept(): boolean {
    return this.#records.isKept;
  }

  /** All that are there, for the start. */
  async *load(): AsyncIterable<TaskRecord> {
    for await (const { value } of this.#records.load()) yield value;
  }

  /** One that was made elsewhere since. */
  async find(id: string, owner: TaskOwner): Promise<TaskRecord | undefined> {
    if (!this.#store.shared) return undefined;
    const entry = await this.#kv.get(taskKey(owner, id));
    if (entry) this.#records.adopt(entry);
    return entry?.value;
  }

  /** All of a principal, at whichever gateway, read a page at a time; for a look only. */
  async *of({ ref }: TaskOwner): AsyncIterable<TaskRecord> {
    if (!this.#store.shared) return;
    for (const prefix of [`${storeKey(ref)}/`, LONG])
      for await (const { value } of this.#kv.list(prefix)) if (value.owner === ref) yield value;
  }

  /** One as it is in the store, for a look only. */
  async read(id: string, owner: TaskOwner): Promise<TaskRecord | undefined> {
    return (await this.#kv.get(taskKey(owner, id)))?.value;
  }

  /**
   * Writes what a task is now.
   * @param options.persists tries until the store answers; default: rejects when it is away
   * @throws {GatewayError} `unavailable`; `exists` when another gateway goes on with it
   */
  save(task: LiveTask, options?: { readonly persists: boolean }): Promise<void> {
    const render = (): TaskRecord => task.toRecord(this.#store.replica);
    return this.#records.save(taskKey(task.owner, task.id), render, options);
  }

  /** One with its revision, by the key that {@link watchKeys} tells. */
  entry(key: string): Promise<Entry<TaskRecord> | undefined> {
    return this.#kv.get(key);
  }

  /**
   * Writes over one revision; 0: where nothing is.
   * @returns the new revision; `undefined` when another is there
   */
  async swap(record: TaskRecord, rev: number): Promise<number | undefined> {
    const key = taskKey({ ref: record.owner }, record.task.id);
    const next = await this.#kv.update(key, record, rev);
    if (next !== undefined) this.#records.adopt({ key, rev: next });
    return next;
  }

  /** Tells of every task that any gateway wrote, by its key; `undefined`: of all. */
  watchKeys(listener: (key: string | undefined) => void): Promise<() => void> {
    return this.#kv.watchKeys(listener).then((end) => () => void end());
  }

  /** Name of this gateway in records. */
  get replica(): string {
    return this.#store.replica;
  }

  /** Whether the gateway that worked on a task is gone. */
  async isAbandoned({ replica }: TaskRecord): Promise<boolean> {
    return !(await this.#store.isThere(replica));
  }

  /** Removes a task for good. */
  drop({ owner, id }: LiveTask): Promise<void> {
    return this.#records.delete(taskKey(owner, id));
  }

  /** An abandoned task as it was before its last message. */
  rewind(task: LiveTask): TaskRecord | undefined {
    return rewind(task.toRecord(this.#store.replica));
  }

  /** Whether this gateway goes on with it. */
  isOwn({ replica }: TaskRecord): boolean {
    return replica === this.#store.replica;
  }

  /** What gateways left under way that died since it was asked last; see {@link Departures}. */
  async *abandoned(): AsyncIterable<TaskRecord> {
    if (!this.#store.shared) return;
    const living = await this.#departures.next();
    if (!living) return;
    for await (const entry of this.#kv.list()) {
      if (!isUnderWay(entry.value) || living.has(entry.value.replica)) continue;
      this.#records.adopt(entry);
      yield entry.value;
    }
  }

  /** Forgets what another gateway goes on with. */
  forget({ owner, id }: Pick<LiveTask, "owner" | "id">): void {
    this.#records.forget(taskKey(owner, id));
  }

  async close(): Promise<void> {
    await within(this.#records.settled(), LAST_MS);
    this.#end.abort();
  }
}

/** Key of a task. */
export function taskKey({ ref }: TaskOwner, id: string): string {
  return storeKey(ref, id);
}
