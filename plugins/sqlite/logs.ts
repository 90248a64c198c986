import { setImmediate } from "node:timers/promises";
import type { LoggedValue, LogRetention } from "propylon/store";
import { packEntries, unpackEntries } from "./packs.ts";
import type { PreparedStatements } from "./statements.ts";
import { PAGE_BYTES, type Writes } from "./writes.ts";

/** Rows that are dropped, looked at, and read at a time: each takes half a millisecond at most. */
const DROP_ROWS = 100;
const LOOK_ROWS = 500;
const READ_ROWS = 16;
/** Logs whose length is known. */
const MAX_COUNTED = 1_000;

/** Entries that go: those up to a place. */
interface Surplus {
  readonly last: number;
  readonly count: number;
}

/**
 * The logs of a file. None of what is done to them holds the loop, however long they are. What goes is behind a mark in one write, so
 * that nobody sees a part of it, and is removed a little at a time.
 */
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
  append(log: string, values: readonly string[]): Promise<number> {
    const size = values.reduce((sum, { length }) => sum + length, 0);
    return this.#writes.add(() => this.#append(log, values), size);
  }

  read(log: string, after: number, limit: number): LoggedValue[] {
    const entries: LoggedValue[] = [];
    let last = Math.max(after, this.#mark(log));
    for (let rows = 1; entries.length < limit;) {
      const read = this.#readRows(log, last, rows);
      const behind = last;
      for (const row of read) entries.push(...toEntries(row).filter(({ seq }) => seq > behind));
      if (read.length < rows) break;
      last = Number(read.at(-1)!["seq"]);
      const left = Math.ceil((limit - entries.length) / Number(read.at(-1)!["count"]));
      rows = Math.min(READ_ROWS, left);
    }
    return entries.slice(0, limit);
  }

  /** Drops the oldest. */
  trim(log: string, retention: LogRetention): Promise<void> {
    return this.#inTurn(log, () => this.#trim(log, retention));
  }

  /** Goes on with what the end of a process interrupted. */
  async resume(): Promise<void> {
    const marks = this.#statements.all(
      "SELECT substr(name, 6) AS log FROM counter WHERE name > 'mark ' AND name < 'mark!'",
    );
    for (const { log } of marks)
      await this.#inTurn(String(log), () => this.#sweep(String(log), this.#mark(String(log))));
  }

  /** Work was undone that may have changed lengths. */
  forget(): void {
    this.#lengths.clear();
  }

  #inTurn(log: string, work: () => Promise<void>): Promise<void> {
    const before = this.#trimming.get(log) ?? Promise.resolve();
    const worked = before.then(work);
    const done: Promise<void> = worked.catch(() => {}).then(() => this.#leave(log, done));
    this.#trimming.set(log, done);
    return worked;
  }

  #leave(log: string, done: Promise<void>): void {
    if (this.#trimming.get(log) === done) this.#trimming.delete(log);
  }

  async #trim(log: string, retention: LogRetention): Promise<void> {
    if (retention.maxEntries === 0) return this.#clear(log);
    const { last, count } = await this.#findSurplus(log, retention);
    if (count === 0) return;
    const marked = this.#writes.add(() => {
      this.#setMark(log, last);
      this.#grow(log, -count);
    });
    await Promise.all([marked, this.#sweep(log, last)]);
  }

  /** With all that is appended until this is done. */
  async #clear(log: string): Promise<void> {
    const last = await this.#writes.add(() => {
      const row = this.#statements.get("SELECT max(seq) AS last FROM log WHERE log = ?", log);
      this.#setMark(log, Number(row!["last"]));
      this.#remember(log, 0);
      return Number(row!["last"]);
    });
    await this.#sweep(log, last);
  }

  #append(log: string, values: readonly string[]): number {
    const at = Date.now();
    let seq: number | bigint = 0;
    for (const { count, text } of packEntries(values))
      seq = this.#statements.run(
        `INSERT INTO log (seq, log, at, value, count)
        VALUES (ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'log'), 0) + ?1, ?2, ?3, ?4, ?1)`,
        count,
        log,
        at,
        text,
      ).lastInsertRowid;
    this.#grow(log, values.length);
    return Number(seq);
  }

  #readRows(log: string, after: number, rows: number): ReturnType<PreparedStatements["all"]> {
    return this.#statements.all(
      "SELECT seq, at, value, count FROM log WHERE log = ? AND seq > ? ORDER BY seq LIMIT ?",
      log,
      after,
      rows,
    );
  }

  /** The oldest entries, those too many or too old. */
  async #findSurplus(log: string, { maxEntries, before = 0 }: LogRetention): Promise<Surplus> {
    const surplus = (await this.#length(log)) - maxEntries;
    let [last, count] = [this.#mark(log), 0];
    for (let rows = LOOK_ROWS; rows === LOOK_ROWS;) {
      const looked = this.#look(log, last);
      for (const { seq, at, size } of looked) {
        const gone = at < before ? size : Math.min(size, surplus - count);
        if (gone > 0) [last, count] = [seq - size + gone, count + gone];
        if (gone < size) return { last, count };
      }
      rows = looked.length;
      if (rows === LOOK_ROWS) await setImmediate();
    }
    return { last, count };
  }

  /** Rows behind a place; of the first, a part may be before it. */
  #look(log: string, after: number): { seq: number; at: number; size: number }[] {
    const rows = this.#statements.all(
      "SELECT seq, at, min(count, seq - ?2) AS size FROM log WHERE log = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
      log,
      after,
      LOOK_ROWS,
    );
    return rows.map(({ seq, at, size }) => ({
      seq: Number(seq),
      at: Number(at),
      size: Number(size),
    }));
  }

  /** Removes the rows of which nothing is behind the mark. */
  async #sweep(log: string, mark: number): Promise<void> {
    for (let rows = DROP_ROWS; rows === DROP_ROWS;) {
      rows = this.#countUntil(log, mark);
      await this.#writes.add(() => this.#drop(log), rows * PAGE_BYTES);
    }
  }

  #countUntil(log: string, mark: number): number {
    const row = this.#statements.get(
      "SELECT count(*) AS rows FROM (SELECT 1 FROM log WHERE log = ? AND seq <= ? LIMIT ?)",
      log,
      mark,
      DROP_ROWS,
    );
    return Number(row!["rows"]);
  }

  #drop(log: string): void {
    const name = markOf(log);
    const dropped = this.#statements.change(
      `DELETE FROM log WHERE seq IN (
        SELECT seq FROM log WHERE log = ? AND seq <= (SELECT value FROM counter WHERE name = ?) ORDER BY seq LIMIT ?)`,
      log,
      name,
      DROP_ROWS,
    );
    if (dropped < DROP_ROWS)
      this.#statements.run(
        "DELETE FROM counter WHERE name = ? AND NOT EXISTS (SELECT 1 FROM log WHERE log = ?)",
        name,
        log,
      );
  }

  /** The place up to which entries are gone, whether or not they are there. */
  #mark(log: string): number {
    const row = this.#statements.get("SELECT value FROM counter WHERE name = ?", markOf(log));
    return Number(row?.["value"] ?? 0);
  }

  #setMark(log: string, place: number): void {
    this.#statements.run(
      "INSERT INTO counter (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      markOf(log),
      place,
    );
  }

  async #length(log: string): Promise<number> {
    for (let [length, after] = [0, this.#mark(log)]; !this.#lengths.has(log);) {
      const looked = this.#look(log, after);
      length = looked.reduce((sum, { size }) => sum + size, length);
      after = looked.at(-1)?.seq ?? after;
      if (looked.length < LOOK_ROWS) this.#remember(log, length);
      else await setImmediate();
    }
    return this.#lengths.get(log)!;
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

const markOf = (log: string): string => `mark ${log}`;

function toEntries(row: Readonly<Record<string, unknown>>): LoggedValue[] {
  const [seq, at, count] = [Number(row["seq"]), Number(row["at"]), Number(row["count"])];
  return unpackEntries({ count, text: row["value"] as string }).map((value, index) => ({
    seq: seq - count + 1 + index,
    at,
    value,
  }));
}
