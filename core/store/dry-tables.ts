import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";

/**
 * Tables of a gateway that is only looked at, as by `propylon check`: a statement is written and goes nowhere, and every query finds
 * no row. A real database may be in use by the gateway that runs, and must not get the tables of a config that is only checked.
 */
export function openDryTables<T>(): Kysely<T> {
  return new Kysely<T>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}
