import { isGatewayError } from "propylon";
import { within } from "propylon/kit";
import { type Entry, type Kv, Records, type Store } from "propylon/store";
import type { ZodType } from "zod";
import { LostReplicas } from "./lost-replicas.ts";

/** What the record of every job tells. */
export interface JobRecord {
  /** The replica that works on it, or did. */
  readonly replica: string;
}

/** What names a job. */
export interface JobRef {
  readonly id: string;
  readonly owner: { readonly ref: string };
}

/** How jobs are recorded. */
export interface JobRecordsOptions<J, R> {
  readonly schema: ZodType<R>;
  /** Default: the id, which no two owners have. */
  keyOf?(job: JobRef): string;
  toRecord(job: J, replica: string): R;
  /** Whether a replica works on it, or is to. */
  isUnderWay(record: R): boolean;
}

/** How a job is written. */
export interface SaveOptions {
  /** Tries until the store answers, or the records are closed; else it rejects while the store is away. */
  readonly persists: boolean;
}

/** The jobs in the store. Where the store forgets with the process it does nothing. */
export class JobRecords<J extends JobRef, R extends JobRecord> {
  readonly kv: Kv<R>;
  readonly #store: Store;
  readonly #options: JobRecordsOptions<J, R>;
  readonly #end = new AbortController();
  readonly #records: Records<R>;
  readonly #lost: LostReplicas;

  constructor(store: Store, name: string, options: JobRecordsOptions<J, R>) {
    const { schema } = options;
    this.kv = store.kv(name, { schema });
    this.#store = store;
    this.#options = options;
    this.#lost = new LostReplicas(store);
    this.#records = new Records(store, name, {
      schema,
      signal: this.#end.signal,
      // What another replica has written since is its own: it took this one for lost.
      owns: (there) => this.isOwn(there),
    });
  }

  /** Whether jobs are there after a restart, or for other replicas. */
  get isKept(): boolean {
    return this.#records.isKept;
  }

  /** Whether other replicas may have some. */
  get isShared(): boolean {
    return this.#store.shared;
  }

  /** Name of this replica in records. */
  get replica(): string {
    return this.#store.replica;
  }

  /** Those that ended, and those that no replica works on: for the start. */
  async load(): Promise<readonly R[]> {
    if (!this.isKept) return [];
    const others = await this.#store.others();
    return this.#adopt((record) => !this.isUnderWay(record) || !others.has(record.replica));
  }

  /** Hands over what replicas left that are gone, except for ends that are known here; see {@link LostReplicas}. */
  async takeOver(take: (records: readonly R[]) => Promise<void>): Promise<void> {
    if (!this.isShared) return;
    await this.#lost.look(async (there) =>
      take(await this.#adopt((record) => !there.has(record.replica))),
    );
  }

  async #adopt(isWanted: (record: R) => boolean): Promise<readonly R[]> {
    const found: Entry<R>[] = [];
    for await (const entry of this.kv.list())
      if (isWanted(entry.value) && !this.#isKnownEnd(entry)) found.push(entry);
    // One that joined while the list was read lives, too.
    const others = await this.#store.others();
    const left = found.filter(({ value }) => !this.isUnderWay(value) || !others.has(value.replica));
    for (const entry of left) this.adopt(entry);
    return left.map(({ value }) => value);
  }

  /** The copy here may be older than the end in the store, and must not be written over it. */
  #isKnownEnd({ key, value }: Entry<R>): boolean {
    return !this.isUnderWay(value) && this.#records.has(key);
  }

  isUnderWay(record: R): boolean {
    return this.#options.isUnderWay(record);
  }

  /** Whether another replica, which is there, works on one. */
  async isAtOther(record: R): Promise<boolean> {
    return (
      this.isUnderWay(record) && !this.isOwn(record) && (await this.#store.isThere(record.replica))
    );
  }

  /** Whether this replica works on one, or did. */
  isOwn({ replica }: R): boolean {
    return replica === this.replica;
  }

  /** What was read is this replica's to write over. */
  adopt(entry: Pick<Entry<R>, "key" | "rev">): void {
    this.#records.adopt(entry);
  }

  /**
   * Writes what a job is when the write begins.
   *
   * @throws {GatewayError} `unavailable`; `exists` when another replica goes on with it
   */
  save(job: J, options?: SaveOptions): Promise<void> {
    const render = (): R => this.#options.toRecord(job, this.replica);
    return this.#records.save(this.#keyOf(job), render, options);
  }

  /**
   * Of several replicas that want a job, one has it.
   *
   * @returns `false`: another has it
   * @throws {GatewayError} `unavailable`: nobody knows
   */
  async claim(job: J, options?: SaveOptions): Promise<boolean> {
    try {
      await this.save(job, options);
      return true;
    } catch (error) {
      if (!isGatewayError(error) || error.code !== "exists") throw error;
      return false;
    }
  }

  /** Removes one for good. @param options default: it persists */
  delete(job: JobRef, options?: SaveOptions): Promise<void> {
    return this.isKept ? this.#records.delete(this.#keyOf(job), options) : Promise.resolve();
  }

  /** Forgets what another replica goes on with. */
  forget(job: JobRef): void {
    this.#records.forget(this.#keyOf(job));
  }

  #keyOf(job: JobRef): string {
    return this.#options.keyOf?.(job) ?? job.id;
  }

  /** @param last how long what is being written may take, in milliseconds */
  async close(last: number): Promise<void> {
    await within(this.#records.settled(), last);
    this.#end.abort();
  }
}
