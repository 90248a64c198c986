import { type Dialect, type Driver, Kysely, PostgresAdapter, sql } from "kysely";
import { GatewayError } from "../kit/errors.ts";
import { prefixTables } from "./table-names.ts";

/**
 * A step of a plugin's tables: from the version before to its own. It runs once for each database, and never backwards.
 *
 * @example const addAuthor: Migration = (db) => db.schema.alterTable("notes").addColumn("author", "text").execute();
 */
// eslint-disable-next-line typescript/no-explicit-any -- tables are different before and after each step
export type Migration = (db: Kysely<any>) => Promise<unknown>;

/**
 * Opens tables of a plugin in the database of the store, SQLite or PostgreSQL; to be called in `onStart`. Tables and indexes are called
 * `<plugin>__<name>` there (`team_auth__users`). Queries say the name alone, and those written as SQL say `sql.table("users")`.
 *
 * Rejects with `invalid` with another store, and for tables that a later version of the plugin made; with `unavailable` while the
 * database is away, as every query does.
 *
 * In a dry run (`propylon check`, `propylon build`) no migration runs and every query finds no row; `gateway.info.dryRun` tells.
 *
 * @param migrations steps that were not made yet run here, all in one transaction, by one replica at a time. Their places are their
 * numbers: add new ones at the end, and never change one that was released
 * @returns a kysely instance, which the gateway closes
 * @example
 * const db = await gateway.services.openDatabase<{ notes: { id: string; text: string } }>([
 *   (old) => old.schema.createTable("notes").addColumn("id", "text", (id) => id.primaryKey()).addColumn("text", "text").execute(),
 * ]);
 * await db.insertInto("notes").values({ id, text }).execute();
 */
export type OpenDatabase = <T>(migrations: readonly Migration[]) => Promise<Kysely<T>>;

/** Which version the tables of each plugin have. */
const VERSIONS = "propylon_migrations";

const LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended(${sql.lit(VERSIONS)}, 0))`;

interface Versions {
  readonly [VERSIONS]: { readonly owner: string; readonly version: number };
}

/** The relational data of a gateway: one database, of which every plugin has tables under names of its own. */
export class RelationalData {
  readonly #root: Kysely<Versions>;
  #hasVersions: Promise<unknown> | undefined;

  constructor(dialect: Dialect) {
    this.#root = new Kysely<Versions>({ dialect: tellingAway(dialect) });
  }

  /**
   * Brings a plugin's tables up to date, and opens them.
   *
   * @throws {GatewayError} `invalid` when a later program made them; what a migration throws
   */
  async open<T>(owner: string, migrations: readonly Migration[]): Promise<Kysely<T>> {
    this.#hasVersions ??= this.#createVersions().catch((error: unknown) => {
      this.#hasVersions = undefined;
      throw error;
    });
    await this.#hasVersions;
    await this.#migrate(owner, migrations);
    const own = scoped<T>(this.#root, owner);
    // It is the gateway's to close, with all that is of other plugins.
    return Object.assign(own, { destroy: () => Promise.resolve() });
  }

  close(): Promise<void> {
    return this.#root.destroy();
  }

  /** Two replicas that create one table at once fail each other in PostgreSQL, whatever IF NOT EXISTS says. */
  #createVersions(): Promise<unknown> {
    return this.#locked((db) =>
      db.schema
        .createTable(VERSIONS)
        .ifNotExists()
        .addColumn("owner", "text", (column) => column.primaryKey())
        .addColumn("version", "integer", (column) => column.notNull())
        .execute(),
    );
  }

  #migrate(owner: string, migrations: readonly Migration[]): Promise<unknown> {
    return this.#locked(async (db) => {
      // The first statement writes: SQLite locks for those only, and not any more after a read that is out of date.
      await db
        .insertInto(VERSIONS)
        .values({ owner, version: 0 })
        .onConflict((conflict) => conflict.column("owner").doUpdateSet({ owner }))
        .execute();
      const mine = db.selectFrom(VERSIONS).select("version").where("owner", "=", owner);
      const { version } = await mine.executeTakeFirstOrThrow();
      if (version > migrations.length) throw newer(owner, version, migrations.length);
      const own = scoped<unknown>(db, owner);
      for (const migrate of migrations.slice(version)) await migrate(own);
      const done = { version: migrations.length };
      await db.updateTable(VERSIONS).set(done).where("owner", "=", owner).execute();
    });
  }

  /** One transaction, and one replica at a time: in SQLite the whole database belongs to one. */
  #locked<R>(work: (db: Kysely<Versions>) => Promise<R>): Promise<R> {
    const { adapter } = this.#root.getExecutor();
    return this.#root.transaction().execute(async (transaction) => {
      // The lock of kysely's own migrations outlives the transaction, and a connection that is lost in between keeps it.
      if (adapter instanceof PostgresAdapter) await LOCK.execute(transaction);
      return work(transaction);
    });
  }
}

/** Names of plugins have no two hyphens in a row, so no two prefixes and names make the same. */
function scoped<T>(db: Kysely<Versions>, owner: string): Kysely<T> {
  const plugins = prefixTables(`${owner.replaceAll("-", "_")}__`);
  return plugins.reduce((each, plugin) => each.withPlugin(plugin), db) as unknown as Kysely<T>;
}

function newer(owner: string, version: number, known: number): GatewayError {
  return new GatewayError(
    "invalid",
    `The tables of the plugin "${owner}" are of version ${version}, and this program knows versions up to ${known}.`,
    { hint: `Update the plugin "${owner}", or restore an earlier backup.` },
  );
}

/** A database that cannot be reached is told as any store that is away. */
function tellingAway(dialect: Dialect): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createDriver: () => telling(dialect.createDriver()),
  };
}

function telling(driver: Driver): Driver {
  const acquire = driver.acquireConnection.bind(driver);
  const acquireConnection: Driver["acquireConnection"] = async (...options) => {
    try {
      return await acquire(...options);
    } catch (cause) {
      throw new GatewayError("unavailable", "The gateway's database does not answer.", {
        cause,
        hint: "Try again in a few seconds; the operator finds the cause in the gateway's log.",
        headers: { "retry-after": "2" },
      });
    }
  };
  return Object.assign(driver, { acquireConnection });
}
