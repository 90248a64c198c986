import { createRequire } from "node:module";
import { GatewayError } from "propylon";

/** What both engines offer of a database. */
export interface Engine {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
}

/** What both engines offer of a statement. */
export interface Statement {
  get(...values: readonly SqlValue[]): Row | undefined;
  all(...values: readonly SqlValue[]): Row[];
  run(...values: readonly SqlValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  /** Of libsql: whether it gives rows. */
  readonly reader?: boolean;
  /** Of Node: the columns of its rows. */
  columns?(): readonly unknown[];
}

export type SqlValue = string | number | bigint | Uint8Array | null;
export type Row = Readonly<Record<string, unknown>>;

type Constructor = new (path: string) => Engine;

/** Node brings SQLite along from version 22.13. */
function ownSqlite(): { readonly DatabaseSync: Constructor } | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (id: string) => unknown };
  return getBuiltinModule?.("node:sqlite") as { readonly DatabaseSync: Constructor } | undefined;
}

/**
 * Opens a file, with Node's own SQLite or with the package libsql.
 *
 * @throws {GatewayError} `io_error` where neither is there
 */
export async function openEngine(path: string): Promise<Engine> {
  const own = ownSqlite();
  if (own) return new own.DatabaseSync(path);
  const Libsql = await importLibsql();
  return new Libsql(path);
}

/** Where a thread finds the package libsql; `undefined` where Node has its own engine. */
export function engineModule(): string | undefined {
  return ownSqlite() ? undefined : createRequire(import.meta.url).resolve("libsql");
}

async function importLibsql(): Promise<Constructor> {
  try {
    const { default: Database } = await import("libsql");
    return Database as unknown as Constructor;
  } catch (cause) {
    throw new GatewayError("io_error", "SQLite is not there: this Node.js has none of its own.", {
      cause,
      hint: "Install the package libsql, or use Node.js 22.13 or later.",
    });
  }
}
