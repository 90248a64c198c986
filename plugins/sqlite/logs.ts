import type { LoggedValue, LogRetention } from "propylon/store";
import type { PreparedStatements } from "./statements.ts";
import { PAGE_BYTES, type Writes } from "./writes.ts";

/** Entries that one statement appends; there is a statement for each number up to it. */
const APPEND_ROWS = 50;
/** Entries that are dropped at a time, and those that are counted: each takes about half a millisecond. */
const DROP_ROWS = 100;
const COUNT_ROWS = 2_000;
/** What a drop may write into the log of writes. */
const DROP_BYTES = DROP_ROWS * PAGE_BYTES;
/** Logs whose length is known. */
const MAX_COUNTED = 1_000;

/** The logs of a file. None of what is done to them holds the loop, however long they are. */
export class FileLogs {
  readonly #statements: PreparedStatements;
  readonly #writes: Writes;
  /** Entries of the logs that were dropped from since the file was opened: to find out takes as long as they are. */
  readonly #lengths = new Map<string, number>();
  /** By log, one after the other: what one drops, another must not count. */
  readonly #trimming = new Map<string, Promise<void>>();

  constructor(statements: PreparedStatements, writes: Writes) {
    this.#statements = statements;
    this.#writes = writes;
  }

  /** @returns the place of the last */
  async append(log: string, values: readonly string[]): Promise<number> {
    const size = values.reduce((sum, { length }) => sum + length, 0);
    const last = await this.#writes.add(() => this.#append(log, values), size);
    this.#grow(log, values.length);
    return last;
  }

  read(log: string, after: number, limit: number): LoggedValue[] {
    const rows = this.#statements.all(
      "SELECT seq, at, value FROM log WHERE log = ? AND seq > ? ORDER BY seq LIMIT ?",
      log,
      after,
      limit,
    );
    return rows.map((row) => ({
      seq: Number(row["seq"]),
      at: Number(row["at"]),
      value: row["value"] as string,
    }));
  }

  /** Drops the oldest, a few at a time. */
  trim(log: string, retention: LogRetention): Promise<void> {
    const before = this.#trimming.get(log) ?? Promise.resolve();
    const trimmed = before.then(() => this.#trim(log, retention));
    const done: Promise<void> = trimmed.catch(() => {}).then(() => this.#forget(log, done));
    this.#trimming.set(log, done);
    return trimmed;
  }

  #forget(log: string, done: Promise<void>): void {
    if (this.#trimming.get(log) === done) this.#trimming.delete(log);
  }

  async #trim(log: string, { maxEntries, before = 0 }: LogRetention): Promise<void> {
    for (let dropped = DROP_ROWS; dropped === DROP_ROWS;) {
      const surplus = (await this.#length(log)) - maxEntries;
      dropped = await this.#writes.add(() => this.#drop(log, surplus, before), DROP_BYTES);
      this.#grow(log, -dropped);
    }
  }

  #append(log: string, values: readonly string[]): number {
    const at = Date.now();
    let seq: number | bigint = 0;
    for (let from = 0; from < values.length; from += APPEND_ROWS) {
      const piece = values.slice(from, from + APPEND_ROWS);
      const insert = insertEntries(piece.length);
      seq = this.#statements.run(
        insert,
        ...piece.flatMap((value) => [log, at, value]),
      ).lastInsertRowid;
    }
    return Number(seq);
  }

  /** @returns how many went of the oldest: those too many, or too old */
  #drop(log: string, surplus: number, before: number): number {
    const oldest = this.#statements.all(
      "SELECT seq, at FROM log WHERE log = ? ORDER BY seq LIMIT ?",
      log,
      DROP_ROWS,
    );
    const young = oldest.findIndex(({ at }) => Number(at) >= before);
    const old = young === -1 ? oldest.length : young;
    const last = oldest[Math.max(old, Math.min(surplus, oldest.length)) - 1];
    if (!last) return 0;
    return this.#statements.change(
      "DELETE FROM log WHERE log = ? AND seq <= ?",
      log,
      Number(last["seq"]),
    );
  }

  async #length(log: string): Promise<number> {
    for (let [length, after] = [0, 0]; !this.#lengths.has(log);) {
      const { count, last } = this.#count(log, after);
      length += count;
      after = last;
      if (count < COUNT_ROWS) this.#remember(log, length);
      else await new Promise((resolve) => void setImmediate(resolve));
    }
    return this.#lengths.get(log)!;
  }

  #count(log: string, after: number): { readonly count: number; readonly last: number } {
    const row = this.#statements.get(
      "SELECT count(*) AS count, max(seq) AS last FROM (SELECT seq FROM log WHERE log = ? AND seq > ? ORDER BY seq LIMIT ?)",
      log,
      after,
      COUNT_ROWS,
    );
    return { count: Number(row!["count"]), last: Number(row!["last"]) };
  }

  #remember(log: string, length: number): void {
    if (this.#lengths.size >= MAX_COUNTED) this.#lengths.clear();
    this.#lengths.set(log, length);
  }

  #grow(log: string, more: number): void {
    const length = this.#lengths.get(log);
    if (length !== undefined) this.#lengths.set(log, length + more);
  }
}

/** One statement for many entries: each has a price of its own in the engine's binding. */
function insertEntries(count: number): string {
  return `INSERT INTO log (log, at, value) VALUES ${Array(count).fill("(?, ?, ?)").join(", ")}`;
}
