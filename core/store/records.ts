import { GatewayError, isGatewayError } from "../kit/errors.ts";
import { pause } from "../kit/timers.ts";
import type { Entry, Kv, KvOptions, Store } from "./store.ts";

/** Wait between attempts while the store is away, in milliseconds. */
const RETRY_MS = 500;

/** Writes that met another revision, before the thing counts as another replica's. */
const ATTEMPTS = 5;

/**
 * How things are recorded.
 *
 * @example const options: RecordsOptions<Job> = { schema: jobSchema, signal, owns: (job) => job.owner === store.replica };
 */
export interface RecordsOptions<T> extends KvOptions<T> {
  /** Ends attempts that go on while the store is away; aborted when the plugin leaves. */
  readonly signal: AbortSignal;
  /** Whether what is in the store may still be written over by this gateway. Default: yes. */
  owns?(there: T): boolean;
}

/** What is to be written under a key. */
interface Slot<T> {
  /** 0 before the first write. */
  rev: number;
  /** The state as it will be when the write begins; absent when nothing waits. */
  render: (() => T) | undefined;
  waiting: Waiting[];
  /** Resolves when nothing more is written of it; never rejects. */
  working: Promise<void> | undefined;
}

interface Waiting {
  readonly persists: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Things that live in memory, and in the store for the time after a restart: the memory decides, the store follows. What changes while
 * a write is under way is one more write, of the latest state. With a store that persists nothing it does nothing.
 *
 * @example
 * const jobs = new Records<JobRecord>(store, "jobs", { signal });
 * for await (const { key, value } of jobs.load()) restore(key, value);
 * await jobs.save(job.id, () => job.toRecord()); // it is there after a restart
 */
export class Records<T> {
  readonly #kv: Kv<T>;
  readonly #isKept: boolean;
  readonly #options: RecordsOptions<T>;
  readonly #slots = new Map<string, Slot<T>>();
  readonly #working = new Set<Promise<void>>();
  readonly #deleting = new Map<string, Promise<void>>();

  constructor(store: Store, name: string, options: RecordsOptions<T>) {
    this.#kv = store.kv(name, options);
    this.#isKept = store.durable || store.shared;
    this.#options = options;
  }

  /** What is there; for the start, before anything is saved. */
  async *load(prefix = ""): AsyncIterable<Entry<T>> {
    if (!this.#isKept) return;
    for await (const entry of this.#kv.list(prefix)) {
      this.adopt(entry);
      yield entry;
    }
  }

  /** Takes over what was read in another way, e.g. by `Kv.get`. */
  adopt({ key, rev }: Pick<Entry<T>, "key" | "rev">): void {
    this.#slot(key).rev = rev;
  }

  /** Whether it follows what is under a key. */
  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /**
   * Writes the state of a thing. Resolves when a state at least as new as now is in the store.
   *
   * @param render tells the state when the write begins
   * @param options.persists tries again while the store is away, until it answers; default: rejects then
   * @throws {GatewayError} `unavailable`; `exists` when it belongs to another replica by now
   */
  save(key: string, render: () => T, { persists = false } = {}): Promise<void> {
    if (!this.#isKept) return Promise.resolve();
    const slot = this.#slot(key);
    slot.render = render;
    return new Promise((resolve, reject) => {
      slot.waiting.push({ persists, resolve, reject });
      if (slot.working) return;
      slot.working = this.#work(key, slot);
      this.#track(slot.working);
    });
  }

  /**
   * Removes it; what waits to be written is not written.
   *
   * @param options.persists tries until the store answers; `false`: rejects while it is away, and nothing is removed. Default: true
   */
  async delete(key: string, { persists = true } = {}): Promise<void> {
    if (!this.#isKept) return;
    if (!persists) await this.#kv.delete(key);
    const slot = this.#slots.get(key);
    this.#slots.delete(key);
    if (slot) slot.render = undefined;
    if (!persists && !slot?.working) return;
    const deleting = this.#delete(key, slot);
    this.#deleting.set(key, deleting);
    this.#track(deleting);
    await deleting;
    if (this.#deleting.get(key) === deleting) this.#deleting.delete(key);
  }

  /** A write under way would bring it back. */
  async #delete(key: string, slot: Slot<T> | undefined): Promise<void> {
    await this.#deleting.get(key);
    await slot?.working;
    await this.#again(() => this.#kv.delete(key));
  }

  /** Forgets a thing that stays in the store. */
  forget(key: string): void {
    if (!this.#slots.get(key)?.working) this.#slots.delete(key);
  }

  /** Resolves when nothing waits to be written. */
  async settled(): Promise<void> {
    while (!this.isSettled) await Promise.allSettled(this.#working);
  }

  /** Whether it follows at all. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Whether everything was written. */
  get isSettled(): boolean {
    return this.#working.size === 0;
  }

  #slot(key: string): Slot<T> {
    const slot = this.#slots.get(key) ?? {
      rev: 0,
      render: undefined,
      waiting: [],
      working: undefined,
    };
    this.#slots.set(key, slot);
    return slot;
  }

  #track(work: Promise<void>): void {
    this.#working.add(work);
    void work.finally(() => this.#working.delete(work));
  }

  async #work(key: string, slot: Slot<T>): Promise<void> {
    // Several changes of one turn are one write; one that was deleted before is gone first.
    await this.#deleting.get(key);
    while (slot.render && this.#slots.get(key) === slot) {
      const waiting = slot.waiting.splice(0);
      const { render } = slot;
      slot.render = undefined;
      try {
        await this.#write(key, slot, render);
        for (const each of waiting) each.resolve();
      } catch (error) {
        await this.#fail(key, slot, render, waiting, error);
      }
    }
    slot.working = undefined;
    // It was deleted meanwhile: nobody waits for its state any more.
    for (const each of slot.waiting.splice(0)) each.resolve();
  }

  async #write(key: string, slot: Slot<T>, render: () => T): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS && this.#slots.get(key) === slot; attempt++) {
      const rev = await this.#kv.update(key, render(), slot.rev);
      if (rev !== undefined) {
        slot.rev = rev;
        return;
      }
      // A write of which no answer came, or another replica.
      const there = await this.#kv.get(key);
      if (there && this.#options.owns?.(there.value) === false) break;
      slot.rev = there?.rev ?? 0;
    }
    // What cannot be read is a later version's.
    if (this.#slots.get(key) === slot)
      throw new GatewayError("exists", "Another replica goes on with this.");
  }

  async #fail(
    key: string,
    slot: Slot<T>,
    render: () => T,
    waiting: readonly Waiting[],
    error: unknown,
  ): Promise<void> {
    const persistent = isAway(error) && !this.#options.signal.aborted;
    for (const each of waiting)
      if (persistent && each.persists) slot.waiting.push(each);
      else each.reject(error);
    if (!slot.waiting.some((each) => waiting.includes(each))) return this.#lose(key, slot, error);
    slot.render ??= render;
    await pause(RETRY_MS * (0.5 + Math.random()), this.#options.signal);
  }

  /** What is another replica's by now, or was never written, is followed no longer. */
  #lose(key: string, slot: Slot<T>, error: unknown): void {
    const isOthers = isGatewayError(error) && error.code === "exists";
    if (slot.render || (!isOthers && slot.rev > 0)) return;
    if (this.#slots.get(key) === slot) this.#slots.delete(key);
  }

  async #again(work: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await work();
        return;
      } catch (error) {
        if (!isAway(error) || this.#options.signal.aborted) return;
        await pause(RETRY_MS * (0.5 + Math.random()), this.#options.signal);
      }
    }
  }
}

function isAway(error: unknown): boolean {
  return isGatewayError(error) && error.code === "unavailable";
}
