import { basename } from "node:path";
import { GatewayError, type PluginContext } from "propylon";
import { type FileLock, lockFile, setTimer } from "propylon/kit";
import {
  type ListOptions,
  LocalEvents,
  type LoggedValue,
  type LogRetention,
  type PutOptions,
  type StoreDriver,
  type StoredEntry,
  type StoredValue,
  type StoreHost,
  type Unsubscribe,
} from "propylon/store";
import { createDialect } from "./dialect.ts";
import type { Engine, SqlValue, Statement } from "./engine.ts";
import { createFile, openTables, pathOf } from "./file.ts";
import type { SqliteOptions } from "./options.ts";

/** When a value ends that does not. */
const NEVER = Number.MAX_SAFE_INTEGER;
/** Revisions that are set aside at a time; those that a killed process did not use are never used. */
const REVISIONS = 1_000;
/** How often values that ended are removed, in milliseconds, and how many at a time: nothing else runs meanwhile. */
const SWEEP_MS = 10_000;
/** Pause between two of those times, in milliseconds, while more have ended. */
const SWEEP_ON_MS = 20;
const SWEEP_ROWS = 500;
/** Entries that one statement appends; there is a statement for each number up to it. */
const APPEND_ROWS = 50;
/** Pages of the file that are given back to the disk at a time. */
const VACUUM_PAGES = 256;

/** Opens the file of a `store: sqlite:...`, which belongs to this gateway until it is closed. */
export async function openDriver(url: string, host: StoreHost): Promise<SqliteDriver> {
  const path = pathOf(url, host);
  const options = host.options as SqliteOptions;
  await createFile(path);
  const lock = await lockFile(path, `The store ${basename(path)}`);
  try {
    return new SqliteDriver({ path, engine: await openTables(path, options), lock, log: host.log });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

interface Opened {
  readonly path: string;
  readonly engine: Engine;
  readonly lock: FileLock;
  readonly log: PluginContext["log"];
}

/** A SQLite file as a store. Each operation is one statement or one transaction, done when the promise is made. */
export class SqliteDriver implements StoreDriver {
  readonly shared = false;
  readonly durable = true;
  readonly #opened: Opened;
  readonly #statements = new Map<string, Statement>();
  readonly #events = new LocalEvents();
  #sweeper: NodeJS.Timeout;
  #rev: number;
  #lastRev: number;
  #isClosed = false;

  constructor(opened: Opened) {
    this.#opened = opened;
    this.#rev = this.#lastRev = this.#reserve();
    this.#lastRev += REVISIONS;
    this.#sweeper = this.#sweepIn(SWEEP_MS);
  }

  async get(bucket: string, key: string): Promise<StoredValue | undefined> {
    const row = this.#prepare(
      "SELECT value, rev FROM kv WHERE bucket = ? AND key = ? AND until > ?",
    ).get(bucket, key, Date.now());
    return row && toValue(row);
  }

  async put(
    bucket: string,
    key: string,
    value: string,
    { rev, until = NEVER }: PutOptions = {},
  ): Promise<number | undefined> {
    const next = this.#nextRev();
    const changes = rev
      ? this.#run(
          "UPDATE kv SET value = ?, rev = ?, until = ? WHERE bucket = ? AND key = ? AND rev = ? AND until > ?",
          [value, next, until, bucket, key, rev, Date.now()],
        )
      : this.#run(
          `INSERT INTO kv (bucket, key, value, rev, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT (bucket, key)
          DO UPDATE SET value = excluded.value, rev = excluded.rev, until = excluded.until WHERE until <= ?`,
          [bucket, key, value, next, until, rev === 0 ? Date.now() : NEVER],
        );
    if (changes === 0) return undefined;
    this.#events.emit(`kv ${bucket}`, key);
    return next;
  }

  async delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    const changes = this.#run(
      "DELETE FROM kv WHERE bucket = ? AND key = ? AND until > ? AND (rev = ? OR ?)",
      [bucket, key, Date.now(), rev ?? 0, rev === undefined ? 1 : 0],
    );
    if (changes > 0) this.#events.emit(`kv ${bucket}`, key);
    return changes > 0;
  }

  async list(bucket: string, { prefix, after = "", limit }: ListOptions): Promise<StoredEntry[]> {
    // No key has a character behind the last of printable ASCII.
    const rows = this.#prepare(
      `SELECT key, value, rev FROM kv WHERE bucket = ? AND key >= ? AND key < ? AND key > ? AND until > ?
      ORDER BY key LIMIT ?`,
    ).all(bucket, prefix, `${prefix}\u007f`, after, Date.now(), limit);
    return rows.map((row) => ({ key: row["key"] as string, ...toValue(row) }));
  }

  async watch(bucket: string, changed: (key: string) => void): Promise<Unsubscribe> {
    return this.#events.listen(`kv ${bucket}`, changed);
  }

  async append(log: string, values: readonly string[]): Promise<number> {
    const last = this.#together(() => {
      const at = Date.now();
      let seq: number | bigint = 0;
      for (let from = 0; from < values.length; from += APPEND_ROWS) {
        const piece = values.slice(from, from + APPEND_ROWS);
        const insert = this.#prepare(insertEntries(piece.length));
        seq = insert.run(...piece.flatMap((value) => [log, at, value])).lastInsertRowid;
      }
      return Number(seq);
    });
    this.#events.emit(`log ${log}`);
    return last;
  }

  async read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    const rows = this.#prepare(
      "SELECT seq, at, value FROM log WHERE log = ? AND seq > ? ORDER BY seq LIMIT ?",
    ).all(log, after, limit);
    return rows.map((row) => ({
      seq: Number(row["seq"]),
      at: Number(row["at"]),
      value: row["value"] as string,
    }));
  }

  async trim(log: string, { maxEntries, before = 0 }: LogRetention): Promise<void> {
    this.#run(
      `DELETE FROM log WHERE log = ?1 AND (at < ?2 OR seq <=
      coalesce((SELECT seq FROM log WHERE log = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?3), 0))`,
      [log, before, maxEntries],
    );
  }

  async follow(log: string, appended: () => void): Promise<Unsubscribe> {
    return this.#events.listen(`log ${log}`, appended);
  }

  async publish(topic: string, message: string): Promise<void> {
    this.#events.emit(`topic ${topic}`, message);
  }

  async subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return this.#events.listen(`topic ${topic}`, listener);
  }

  /** Relational data stands in a file beside this one: a transaction of a plugin must not hold up the gateway's own writes. */
  dialect(): ReturnType<typeof createDialect> {
    return createDialect(`${this.#opened.path}.tables`);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#sweeper);
    this.#events.close();
    this.#statements.clear();
    this.#opened.engine.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#opened.engine.close();
    await this.#opened.lock.release();
  }

  /** Again and again: soon while there is more, or values would end faster than they go. */
  #sweepIn(ms: number): NodeJS.Timeout {
    return setTimer(() => {
      const isDone = this.#sweep() < SWEEP_ROWS;
      this.#sweeper = this.#sweepIn(isDone ? SWEEP_MS : SWEEP_ON_MS);
    }, ms).unref();
  }

  /**
   * Removes what ended, a little at a time, and gives the room back to the disk.
   *
   * @returns how many values went
   */
  #sweep(): number {
    try {
      const removed = this.#run(
        "DELETE FROM kv WHERE rowid IN (SELECT rowid FROM kv WHERE until <= ? LIMIT ?)",
        [Date.now(), SWEEP_ROWS],
      );
      this.#opened.engine.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
      return removed;
    } catch (error) {
      this.#opened.log.warn({ err: error }, "the store could not be cleaned");
      return 0;
    }
  }

  #nextRev(): number {
    if (this.#rev >= this.#lastRev) this.#lastRev = this.#reserve() + REVISIONS;
    return ++this.#rev;
  }

  /** @returns the last revision that may have been used */
  #reserve(): number {
    const row = this.#prepare(
      `INSERT INTO counter (name, value) VALUES ('rev', ?1) ON CONFLICT (name)
      DO UPDATE SET value = value + ?1 RETURNING value`,
    ).get(REVISIONS);
    return Number(row!["value"]) - REVISIONS;
  }

  #together<T>(work: () => T): T {
    const { engine } = this.#opened;
    engine.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      engine.exec("COMMIT");
      return result;
    } catch (error) {
      rollBack(engine);
      throw explain(error);
    }
  }

  #run(sql: string, values: readonly SqlValue[]): number {
    try {
      return Number(this.#prepare(sql).run(...values).changes);
    } catch (error) {
      throw explain(error);
    }
  }

  #prepare(sql: string): Statement {
    const statement = this.#statements.get(sql) ?? this.#opened.engine.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** SQLite ends a transaction by itself when its disk is full; that there is none to be undone would hide why. */
function rollBack(engine: Pick<Engine, "exec">): void {
  try {
    engine.exec("ROLLBACK");
  } catch {
    // Undone already.
  }
}

function toValue(row: Readonly<Record<string, unknown>>): StoredValue {
  return { value: row["value"] as string, rev: Number(row["rev"]) };
}

/** A full file is not a store that is away: reads go on. */
function explain(error: unknown): unknown {
  if (!/\bfull\b/.test((error as Error).message)) return error;
  return new GatewayError("unavailable", "The gateway's store is full.", {
    cause: error,
    hint: "The operator can raise maxSize of the plugin sqlite, or make room on the disk.",
  });
}

/** One statement for many entries: each has a price of its own in the engine's binding. */
function insertEntries(count: number): string {
  return `INSERT INTO log (log, at, value) VALUES ${Array(count).fill("(?, ?, ?)").join(", ")}`;
}
