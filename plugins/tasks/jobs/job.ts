import { randomUUID } from "node:crypto";

/** How a job ended, and when (ISO 8601). */
export interface JobEnd {
  readonly end: unknown;
  readonly endedAt: string;
}

/** What a job is made of, whether it is begun or read from the store. */
export interface JobOptions<O> {
  /** Default: one that nobody can guess. */
  readonly id?: string | undefined;
  readonly owner: O;
  /** Default: now. */
  readonly createdAt?: string | undefined;
}

/**
 * Work that outlives its request. Its end is written before anybody is told of it: meanwhile the job is as it was.
 *
 * @typeParam F its end
 * @typeParam N what watchers are told
 * @typeParam O who owns it
 */
export class Job<F extends JobEnd, N, O extends { readonly ref: string }> {
  readonly id: string;
  readonly owner: O;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Set while it is on its way to an end; never rejects. What would end it waits for that, and looks again. */
  ending: Promise<unknown> | undefined;
  readonly #watchers = new Set<(news: N) => void>();
  #final: F | undefined;
  /** The end that is being written and does not count yet. */
  #next: F | undefined;

  constructor({ id, owner, createdAt }: JobOptions<O>) {
    this.id = id ?? randomUUID();
    this.owner = owner;
    this.createdAt = createdAt ?? new Date().toISOString();
  }

  get isOver(): boolean {
    return this.#final !== undefined;
  }

  get end(): F["end"] | undefined {
    return this.#final?.end;
  }

  /** ISO 8601; always that of {@link end}. */
  get endedAt(): string | undefined {
    return this.#final?.endedAt;
  }

  get final(): F | undefined {
    return this.#final;
  }

  /** The end that a record of it tells: the one that is being written, or the one that counts. */
  get recorded(): F | undefined {
    return this.#next ?? this.#final;
  }

  /** Does what leads to its end, and what else would end it waits. */
  async endBy<T>(work: () => Promise<T>): Promise<T> {
    const working = work();
    const ending = working.catch(() => {});
    this.ending = ending;
    try {
      return await working;
    } finally {
      // What it led to in turn stays.
      if (this.ending === ending) this.ending = undefined;
    }
  }

  /**
   * Writes an end, and lets it count in the same turn: what else waits to be written tells an end that was refused no more.
   *
   * @param write rejects: the job is as it was; `undefined`: nothing is stored
   */
  endWith<T>(final: F, write: () => Promise<void> | undefined, count: () => T): Promise<T> {
    return this.endBy(async () => {
      this.#next = final;
      try {
        const writing = write();
        if (writing) await writing;
        return count();
      } finally {
        this.#next = undefined;
      }
    });
  }

  /** Takes its final state. The caller knows that it has none, or one that may still change. */
  settle(final: F): void {
    this.#final = final;
  }

  /** Calls back with everything that is told of it. @returns stops that */
  watch(listener: (news: N) => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** Tells those who watch. */
  tell(news: N): void {
    for (const watcher of this.#watchers) watcher(news);
  }
}
