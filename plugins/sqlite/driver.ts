import { basename } from "node:path";
import type { PluginContext } from "propylon";
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
import { Checkpoints } from "./checkpoints.ts";
import { createDialect } from "./dialect.ts";
import { engineModule } from "./engine.ts";
import { createFile, JOURNAL_SIZE, NEVER, openTables, pathOf } from "./file.ts";
import { FileLogs } from "./logs.ts";
import type { SqliteOptions } from "./options.ts";
import { Revisions } from "./revisions.ts";
import { PreparedStatements } from "./statements.ts";
import { PAGE_BYTES, Writes } from "./writes.ts";

/** How often values that ended are removed, in milliseconds, and how many at a time: nothing else runs meanwhile. */
const SWEEP_MS = 10_000;
/** Pause between two of those times, in milliseconds, while there is more to do. */
const SWEEP_ON_MS = 20;
const SWEEP_ROWS = 100;
/** Pages of the file that are given back to the disk at a time, and those that stay free for what comes. */
const VACUUM_PAGES = 64;
const SPARE_PAGES = 256;
/** What a sweep may write into the log of writes: each row and each page that moves changes others. */
const SWEEP_BYTES = (SWEEP_ROWS + 2 * VACUUM_PAGES) * PAGE_BYTES;

/** Opens the file of a `store: sqlite:...`, which belongs to this gateway until it is closed. */
export async function openDriver(url: string, host: StoreHost): Promise<SqliteDriver> {
  const path = pathOf(url, host);
  const options = host.options as SqliteOptions;
  await createFile(path);
  const lock = await lockFile(path, `The store ${basename(path)}`);
  let statements: PreparedStatements | undefined;
  try {
    statements = new PreparedStatements(await openTables(path, options));
    const { synchronous } = options;
    return new SqliteDriver({ path, statements, synchronous, lock, log: host.log });
  } catch (error) {
    statements?.close();
    await lock.release();
    throw error;
  }
}

interface Opened {
  readonly path: string;
  readonly statements: PreparedStatements;
  readonly synchronous: SqliteOptions["synchronous"];
  readonly lock: FileLock;
  readonly log: PluginContext["log"];
}

/** A SQLite file as a store. What is written is in the file when its promise resolves, at the end of this turn of the loop. */
export class SqliteDriver implements StoreDriver {
  readonly shared = false;
  readonly durable = true;
  readonly #opened: Opened;
  readonly #events = new LocalEvents();
  readonly #revisions: Revisions;
  readonly #writes: Writes;
  readonly #logs: FileLogs;
  readonly #checkpoints: Checkpoints;
  #sweeper: NodeJS.Timeout;
  #isClosed = false;

  constructor(opened: Opened) {
    const { path, statements, synchronous, log } = opened;
    this.#opened = opened;
    this.#revisions = new Revisions(statements);
    this.#writes = new Writes({
      statements,
      committed: (pages) => this.#checkpoints.note(pages),
      undone: () => {
        this.#revisions.forget();
        this.#logs.forget();
      },
    });
    this.#logs = new FileLogs(statements, this.#writes);
    const thread = { path, module: engineModule(), synchronous, journalSize: JOURNAL_SIZE };
    this.#checkpoints = new Checkpoints({ thread, statements, writes: this.#writes, log });
    this.#sweeper = this.#sweepIn(SWEEP_MS);
    // What is left of it is not seen, and goes with the next trim.
    this.#logs.resume().catch(() => {});
  }

  async get(bucket: string, key: string): Promise<StoredValue | undefined> {
    this.#writes.check();
    const row = this.#opened.statements.get(
      "SELECT value, rev FROM kv WHERE bucket = ? AND key = ? AND until > ?",
      bucket,
      key,
      Date.now(),
    );
    return row && toValue(row);
  }

  async put(
    bucket: string,
    key: string,
    value: string,
    options: PutOptions = {},
  ): Promise<number | undefined> {
    const work = (): number | undefined => this.#put(bucket, key, value, options);
    const rev = await this.#writes.add(work, value.length);
    if (rev !== undefined) this.#events.emit(`kv ${bucket}`, key);
    return rev;
  }

  async delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    const changes = await this.#writes.add(() =>
      this.#opened.statements.change(
        "DELETE FROM kv WHERE bucket = ? AND key = ? AND until > ? AND (rev = ? OR ?)",
        bucket,
        key,
        Date.now(),
        rev ?? 0,
        rev === undefined ? 1 : 0,
      ),
    );
    if (changes > 0) this.#events.emit(`kv ${bucket}`, key);
    return changes > 0;
  }

  async list(bucket: string, { prefix, after = "", limit }: ListOptions): Promise<StoredEntry[]> {
    this.#writes.check();
    // No key has a character behind the last of printable ASCII.
    const rows = this.#opened.statements.all(
      `SELECT key, value, rev FROM kv WHERE bucket = ? AND key >= ? AND key < ? AND key > ? AND until > ?
      ORDER BY key LIMIT ?`,
      bucket,
      prefix,
      `${prefix}\u007f`,
      after,
      Date.now(),
      limit,
    );
    return rows.map((row) => ({ key: row["key"] as string, ...toValue(row) }));
  }

  async watch(bucket: string, changed: (key: string) => void): Promise<Unsubscribe> {
    return this.#events.listen(`kv ${bucket}`, changed);
  }

  async append(log: string, values: readonly string[]): Promise<number> {
    const last = await this.#logs.append(log, values);
    this.#events.emit(`log ${log}`);
    return last;
  }

  async read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    this.#writes.check();
    return this.#logs.read(log, after, limit);
  }

  trim(log: string, retention: LogRetention): Promise<void> {
    return this.#logs.trim(log, retention);
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
    await this.#checkpoints.close();
    this.#writes.finish();
    this.#opened.statements.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    this.#opened.statements.close();
    await this.#opened.lock.release();
  }

  #put(
    bucket: string,
    key: string,
    value: string,
    { rev, until = NEVER }: PutOptions,
  ): number | undefined {
    const { statements } = this.#opened;
    const next = this.#revisions.next();
    const changes = rev
      ? statements.change(
          "UPDATE kv SET value = ?, rev = ?, until = ? WHERE bucket = ? AND key = ? AND rev = ? AND until > ?",
          value,
          next,
          until,
          bucket,
          key,
          rev,
          Date.now(),
        )
      : statements.change(
          `INSERT INTO kv (bucket, key, value, rev, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT (bucket, key)
          DO UPDATE SET value = excluded.value, rev = excluded.rev, until = excluded.until WHERE until <= ?`,
          bucket,
          key,
          value,
          next,
          until,
          rev === 0 ? Date.now() : NEVER,
        );
    return changes === 0 ? undefined : next;
  }

  /** Again and again: soon while there is more, or values would end faster than they go. */
  #sweepIn(ms: number): NodeJS.Timeout {
    return setTimer(() => void this.#sweep(), ms).unref();
  }

  async #sweep(): Promise<void> {
    const isMore = await this.#writes
      .add(() => this.#removeEnded(), SWEEP_BYTES)
      .catch((error: unknown) => {
        if (!this.#isClosed)
          this.#opened.log.warn({ err: error }, "the store could not be cleaned");
        return false;
      });
    if (!this.#isClosed) this.#sweeper = this.#sweepIn(isMore ? SWEEP_ON_MS : SWEEP_MS);
  }

  /**
   * Removes what ended, a little at a time, and gives the room back to the disk.
   *
   * @returns whether there is more
   */
  #removeEnded(): boolean {
    const { statements } = this.#opened;
    const removed = statements.change(
      // The first condition is that of the index.
      `DELETE FROM kv WHERE rowid IN (SELECT rowid FROM kv WHERE until < ${NEVER} AND until <= ? LIMIT ?)`,
      Date.now(),
      SWEEP_ROWS,
    );
    statements.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
    const free = Number(statements.get("PRAGMA freelist_count")?.["freelist_count"]);
    return removed === SWEEP_ROWS || free > SPARE_PAGES;
  }
}

function toValue(row: Readonly<Record<string, unknown>>): StoredValue {
  return { value: row["value"] as string, rev: Number(row["rev"]) };
}
