import { mkdir, open } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { GatewayError } from "propylon";
import type { StoreHost } from "propylon/store";
import { type Engine, openEngine } from "./engine.ts";
import type { SqliteOptions } from "./options.ts";

/** When a value ends that does not. */
export const NEVER = Number.MAX_SAFE_INTEGER;
/** Bytes to which the log of writes shrinks again behind a flood. */
export const JOURNAL_SIZE = 16_777_216;
/** Version of the tables; a file with a later one is left alone. */
const VERSION = 2;

/** Rows of logs had one entry each in version 1. */
const GROWTH = "ALTER TABLE log ADD COLUMN count INTEGER NOT NULL DEFAULT 1;";
const TABLES = `
  CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS kv (
    bucket TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    rev INTEGER NOT NULL, until INTEGER NOT NULL
  );
  CREATE UNIQUE INDEX IF NOT EXISTS kv_key ON kv (bucket, key);
  DROP INDEX IF EXISTS kv_until;
  CREATE INDEX IF NOT EXISTS kv_end ON kv (until) WHERE until < ${NEVER};
  CREATE TABLE IF NOT EXISTS log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL, at INTEGER NOT NULL, value TEXT NOT NULL,
    count INTEGER NOT NULL DEFAULT 1
  );
  CREATE INDEX IF NOT EXISTS log_seq ON log (log, seq);
`;

/** The file that a store's URL names: `sqlite:./data/gateway.db`. */
export function pathOf(url: string, { folder }: Pick<StoreHost, "folder">): string {
  const path = url.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  if (path !== "" && !path.startsWith("//") && !path.startsWith(":")) return resolve(folder, path);
  throw new GatewayError("invalid", `"${url}" names no file.`, {
    hint: "Write sqlite:./data/gateway.db, or leave store out.",
  });
}

/** Makes an empty file that only its owner can read; one that is there stays as it is. */
export async function createFile(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await (await open(path, "a", 0o600)).close();
  } catch (cause) {
    throw unusable(path, (cause as NodeJS.ErrnoException).code ?? "unknown error", cause);
  }
}

/**
 * Opens the tables of the store.
 *
 * @throws {GatewayError} `io_error` for a file that is not a database, or one that a later version made
 */
export async function openTables(path: string, options: SqliteOptions): Promise<Engine> {
  const engine = await openEngine(path);
  try {
    prepareTables(engine, path, options);
    return engine;
  } catch (cause) {
    engine.close();
    if (cause instanceof GatewayError) throw cause;
    throw unusable(path, (cause as Error).message, cause);
  }
}

function prepareTables(engine: Engine, path: string, options: SqliteOptions): void {
  engine.exec("PRAGMA auto_vacuum = INCREMENTAL");
  engine.exec("PRAGMA journal_mode = WAL");
  engine.exec(`PRAGMA synchronous = ${options.synchronous}`);
  engine.exec(`PRAGMA journal_size_limit = ${JOURNAL_SIZE}`);
  const version = Number(engine.prepare("PRAGMA user_version").get()?.["user_version"]);
  if (version > VERSION)
    throw new GatewayError(
      "io_error",
      `The store ${basename(path)} is of version ${version}, and this gateway knows versions up to ${VERSION}.`,
      { hint: "Update the gateway, or name another file in store." },
    );
  const growth = version === 1 ? GROWTH : "";
  engine.exec(`BEGIN IMMEDIATE; ${growth} ${TABLES} PRAGMA user_version = ${VERSION}; COMMIT`);
  const pageSize = Number(engine.prepare("PRAGMA page_size").get()?.["page_size"]);
  engine.exec(`PRAGMA max_page_count = ${Math.ceil(options.maxSize / pageSize)}`);
}

function unusable(path: string, reason: string, cause: unknown): GatewayError {
  return new GatewayError("io_error", `The store ${basename(path)} cannot be used (${reason}).`, {
    cause,
    hint: "Check that its folder is writable, and that a gateway made the file.",
  });
}
