import type { Dialect } from "kysely";
import type { Pool, QueryResult, QueryResultRow } from "pg";
import { importOptional, setTicker, within } from "propylon/kit";
import type {
  ListOptions,
  LoggedValue,
  LogRetention,
  PutOptions,
  StoreDriver,
  StoredEntry,
  StoredValue,
  StoreHost,
  Unsubscribe,
} from "propylon/store";
import { readAddress } from "./address.ts";
import { refusal, tellAway } from "./refusal.ts";
import { ChangeListener } from "./listener.ts";
import { kvNotice, logNotice, messageNotices } from "./notices.ts";
import type { PostgresOptions } from "./options.ts";
import { poolOptions, relationalOptions } from "./pools.ts";
import { createStatements, type StoreStatement, type Statements } from "./statements.ts";
import { prepareTables } from "./tables.ts";

/** A call that takes longer is given up, in milliseconds: a little less than the gateway waits. */
const PATIENCE_MS = 4_800;
/** How often ended values are removed, in milliseconds. */
const SWEEP_MS = 30_000;
/** Longest time until a value ends, in milliseconds: a century, within what the database can add. */
const LONGEST_MS = 100 * 365 * 86_400_000;
/** Values and entries that are removed at once. */
const BATCH = 500;
/** Behind every key. */
const LAST = "\u007F";

/**
 * Opens a store in PostgreSQL.
 *
 * @throws {GatewayError} when the database cannot be reached or cannot hold it, saying why; never with the password
 */
export async function openPostgres(url: string, host: StoreHost): Promise<StoreDriver> {
  const { schema, maxConnections } = host.options as PostgresOptions;
  const address = readAddress(url, host.folder);
  const { default: pg } = await importOptional(
    () => import("pg"),
    "A store in PostgreSQL needs its client.",
    ["pg"],
  );
  const options = poolOptions(address, maxConnections);
  const pool = guarded(new pg.Pool(options));
  const statements = createStatements(`"${schema}"`);
  try {
    await prepareTables(pool, schema);
    const listener = await ChangeListener.open({
      channel: schema,
      log: host.log,
      patience: PATIENCE_MS,
      connect: () => new pg.Client(options),
      notify: (payload) => pool.query(statements.publish, [schema, [payload]]),
    });
    const relational = (): Pool =>
      guarded(new pg.Pool(relationalOptions(address, maxConnections, schema)));
    return new PostgresDriver({ pool, listener, statements, channel: schema, relational });
  } catch (error) {
    await pool.end();
    throw refusal(error, address.name);
  }
}

/** A connection that breaks fails who uses it; without a listener it would end the process. */
function guarded(pool: Pool): Pool {
  return pool.on("error", () => {}).on("connect", (client) => void client.on("error", () => {}));
}

interface Parts {
  readonly pool: Pool;
  readonly listener: ChangeListener;
  readonly statements: Statements;
  readonly channel: string;
  relational(): Pool;
}

/** A store in PostgreSQL: every call one statement, every change told by a notice of the same transaction. */
class PostgresDriver implements StoreDriver {
  readonly shared = true;
  readonly durable = true;
  readonly #parts: Parts;
  readonly #sweeper: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sweeper = setTicker(
      () => void this.#sweep().catch(() => {}),
      SWEEP_MS * (0.5 + Math.random()),
    ).unref();
  }

  async get(bucket: string, key: string): Promise<StoredValue | undefined> {
    const [row] = await this.#run(this.#sql.get, [bucket, key]);
    return row && { value: row["value"] as string, rev: Number(row["rev"]) };
  }

  async put(
    bucket: string,
    key: string,
    value: string,
    { rev, until }: PutOptions = {},
  ): Promise<number | undefined> {
    const ttl = until === undefined ? null : Math.min(until - Date.now(), LONGEST_MS);
    const values = [bucket, key, this.#parts.channel, kvNotice(bucket, key), value, ttl];
    const [row] = rev
      ? await this.#run(this.#sql.update, [...values, rev])
      : await this.#run(rev === 0 ? this.#sql.create : this.#sql.put, values);
    return row && Number(row["rev"]);
  }

  async delete(bucket: string, key: string, rev?: number): Promise<boolean> {
    const values = [bucket, key, this.#parts.channel, kvNotice(bucket, key), rev ?? null];
    return (await this.#run(this.#sql.delete, values)).length > 0;
  }

  async list(bucket: string, { prefix, after = "", limit }: ListOptions): Promise<StoredEntry[]> {
    const values = [bucket, after, prefix, `${prefix}${LAST}`, limit];
    const rows = await this.#run(this.#sql.list, values);
    return rows.map(({ key, value, rev }) => ({
      key: key as string,
      value: value as string,
      rev: Number(rev),
    }));
  }

  watch(bucket: string, changed: (key: string | undefined) => void): Promise<Unsubscribe> {
    return this.#parts.listener.on("kv", bucket, changed);
  }

  async append(log: string, values: readonly string[]): Promise<number> {
    const [row] = await this.#run(this.#sql.append, [
      log,
      values,
      this.#parts.channel,
      logNotice(log),
    ]);
    return Number(row!["seq"]);
  }

  async read(log: string, after: number, limit: number): Promise<LoggedValue[]> {
    const rows = await this.#run(this.#sql.read, [log, after, limit]);
    return rows.map(({ seq, value, at }) => ({
      seq: Number(seq),
      value: value as string,
      at: Number(at),
    }));
  }

  async trim(log: string, { maxEntries, before }: LogRetention): Promise<void> {
    const maxAge = before === undefined ? null : Date.now() - before;
    for (let dropped = BATCH; dropped === BATCH && !this.#closing;)
      dropped = await this.#count(this.#sql.trim, [log, maxEntries, maxAge, BATCH]);
  }

  follow(log: string, appended: () => void): Promise<Unsubscribe> {
    return this.#parts.listener.on("log", log, () => appended());
  }

  async publish(topic: string, message: string): Promise<void> {
    const { channel } = this.#parts;
    await this.#run(this.#sql.publish, [channel, messageNotices(topic, message)]);
  }

  subscribe(topic: string, listener: (message: string) => void): Promise<Unsubscribe> {
    return this.#parts.listener.on("topic", topic, (message) => listener(message!));
  }

  async dialect(): Promise<Dialect> {
    const { PostgresDialect } = await import("kysely");
    return new PostgresDialect({
      pool: () => Promise.resolve(this.#parts.relational()),
      onCreateConnection: (connection) => Promise.resolve(tellAway(connection)),
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#parts.listener.close();
    await this.#parts.pool.end();
  }

  get #sql(): Statements {
    return this.#parts.statements;
  }

  async #sweep(): Promise<void> {
    for (let removed = BATCH; removed === BATCH && !this.#closing;)
      removed = await this.#count(this.#sql.sweep, [this.#parts.channel, BATCH]);
  }

  async #run(statement: StoreStatement, values: readonly unknown[]): Promise<QueryResultRow[]> {
    return (await this.#query(statement, values)).rows;
  }

  async #count(statement: StoreStatement, values: readonly unknown[]): Promise<number> {
    return (await this.#query(statement, values)).rowCount ?? 0;
  }

  /** Waits for a connection and for the answer have limits of their own; this is the one of both. */
  async #query(statement: StoreStatement, values: readonly unknown[]): Promise<QueryResult> {
    const answer = this.#parts.pool.query<QueryResultRow>({ ...statement, values: [...values] });
    if (await within(answer, PATIENCE_MS)) return answer;
    answer.catch(() => {});
    throw new Error(`PostgreSQL gave no answer within ${PATIENCE_MS / 1_000} s.`);
  }
}
