import { within } from "propylon/kit";
import { type Entry, type Kv, Records, type Store } from "propylon/store";
import type { ZodType } from "zod";

/** What the record of every job tells. */
export interface JobRecord {
  /** The replica that works on it, or did. */
  readonly replica: string;
}

/** How jobs are recorded. */
export interface JobRecordsOptions<R> {
  readonly schema: ZodType<R>;
  /** Whether a replica works on it, or is to. */
  isUnderWay(record: R): boolean;
}

/** The jobs in the store. With a store that keeps nothing it does nothing. */
export class JobRecords<R extends JobRecord> {
  readonly kv: Kv<R>;
  readonly #store: Store;
  readonly #end = new AbortController();
  readonly #records: Records<R>;
  readonly #isUnderWay: (record: R) => boolean;
  /** The replicas that were there when {@link lost} was asked last. */
  #before: ReadonlySet<string> | undefined;

  constructor(store: Store, name: string, { schema, isUnderWay }: JobRecordsOptions<R>) {
    this.kv = store.kv(name, { schema });
    this.#store = store;
    this.#isUnderWay = isUnderWay;
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
  async *load(): AsyncIterable<R> {
    if (!this.isKept) return;
    const others = await this.#store.others();
    yield* this.#adopted(({ replica }) => !others.has(replica));
  }

  /**
   * What replicas left under way that are gone since it was asked last; the first time, whatever was left. One replica looks for all,
   * the eldest: where none starts in place of the dead one, nobody else would.
   */
  async *lost(): AsyncIterable<R> {
    if (!this.isShared) return;
    const ids = (await this.#store.replicas()).map(({ id }) => id);
    const there = new Set(ids);
    const isAnyGone = !this.#before || [...this.#before].some((id) => !there.has(id));
    if (isAnyGone && ids[0] === this.replica)
      for await (const record of this.#adopted(({ replica }) => !there.has(replica)))
        if (this.#isUnderWay(record)) yield record;
    // Not before: where the store goes away meanwhile, the next time looks again.
    this.#before = there;
  }

  async *#adopted(isLost: (record: R) => boolean): AsyncIterable<R> {
    for await (const entry of this.kv.list()) {
      if (this.#isUnderWay(entry.value) && !isLost(entry.value)) continue;
      this.#records.adopt(entry);
      yield entry.value;
    }
  }

  /** Whether another replica, which is there, works on one. */
  async isAtOther(record: R): Promise<boolean> {
    const { replica } = record;
    return this.#isUnderWay(record) && !this.isOwn(record) && this.#store.isThere(replica);
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
   * @param options.persists tries until the store answers, or this ends; default: rejects while it is away
   * @throws {GatewayError} `unavailable`; `exists` when another replica goes on with it
   */
  save(key: string, render: () => R, options?: { readonly persists: boolean }): Promise<void> {
    return this.#records.save(key, render, options);
  }

  /** Removes one for good. @param options.persists see {@link save}; default: true */
  delete(key: string, options?: { readonly persists: boolean }): Promise<void> {
    return this.#records.delete(key, options);
  }

  /** Forgets what another replica goes on with. */
  forget(key: string): void {
    this.#records.forget(key);
  }

  /** @param last how long what is being written may take, in milliseconds */
  async close(last: number): Promise<void> {
    await within(this.#records.settled(), last);
    this.#end.abort();
  }
}
