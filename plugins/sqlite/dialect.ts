import type { Dialect } from "kysely";
import { createFile } from "./file.ts";
import { type Engine, openEngine, type SqlValue, type Statement } from "./engine.ts";

/** What kysely calls a database of SQLite. */
interface KyselyDatabase {
  prepare(sql: string): KyselyStatement;
  close(): void;
}

interface KyselyStatement {
  readonly reader: boolean;
  all(values: readonly unknown[]): unknown[];
  run(values: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(values: readonly unknown[]): IterableIterator<unknown>;
}

/** kysely's dialect over the same engine as the store. */
export async function createDialect(path: string): Promise<Dialect> {
  const { SqliteDialect } = await import("kysely");
  return new SqliteDialect({
    database: async () => {
      await createFile(path);
      const engine = await openEngine(path);
      engine.exec("PRAGMA journal_mode = WAL");
      engine.exec("PRAGMA foreign_keys = ON");
      return toDatabase(engine);
    },
  });
}

function toDatabase(engine: Engine): KyselyDatabase {
  return {
    prepare: (sql) => {
      const statement = toStatement(engine.prepare(sql));
      return sql === "rollback" ? forgiving(statement) : statement;
    },
    close: () => void engine.close(),
  };
}

/** SQLite ends a transaction on its own when its disk is full. An error of the rollback would hide why. */
function forgiving(statement: KyselyStatement): KyselyStatement {
  const run: KyselyStatement["run"] = (values) => {
    try {
      return statement.run(values);
    } catch {
      return { changes: 0, lastInsertRowid: 0 };
    }
  };
  return { ...statement, run };
}

function toStatement(statement: Statement): KyselyStatement {
  const all = (values: readonly unknown[]): unknown[] =>
    statement.all(...(values as readonly SqlValue[])).map((row) => withoutMetadata(row));
  return {
    reader: statement.reader ?? statement.columns!().length > 0,
    all,
    run: (values) => statement.run(...(values as readonly SqlValue[])),
    iterate: (values) => all(values).values(),
  };
}

/** libsql says with each row how long it took. */
function withoutMetadata(row: Readonly<Record<string, unknown>>): unknown {
  const { _metadata, ...columns } = row;
  return columns;
}
