import { join } from "node:path";
import { pino } from "pino";
import { afterAll, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { openDriver as openSqlite } from "../../../plugins/sqlite/driver.ts";
import { optionsSchema as sqliteOptions } from "../../../plugins/sqlite/options.ts";
import { MIGRATIONS } from "../../../plugins/team-auth/tables/migrations.ts";
import type { Database, Tables } from "../../../plugins/team-auth/tables/tables.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { makeFolder } from "../../kit/folder.ts";
import { freshSchema, hasPostgres, openDriver } from "../postgres/kit.ts";

const log = pino({ level: "silent" });

/** One for all tests of a file. */
let server: Promise<PostgresServer> | undefined;
afterAll(async () => (await server)?.stop());

/** Opens the tables in one database, as several gateways do. */
export type OpenTables = () => Promise<Database>;

async function openFile(): Promise<OpenTables> {
  const folder = makeFolder();
  const url = `sqlite:${join(folder, "gateway.db")}`;
  const driver = await openSqlite(url, { folder, options: sqliteOptions.parse({}), log });
  const store = new GatewayStore(driver, log);
  onTestFinished(() => store.close());
  return () => store.database<Tables>("team-auth", MIGRATIONS);
}

async function openSchema(): Promise<OpenTables> {
  server ??= freePort().then((port) => startPostgres(port));
  const { url } = await server;
  const schema = freshSchema();
  return async () => {
    const store = new GatewayStore(await openDriver(url, schema), log);
    onTestFinished(() => store.close());
    return store.database<Tables>("team-auth", MIGRATIONS);
  };
}

/** Every kind of database, whether it is here, and how a new one of it is made for the running test. */
export const PLACES = [
  ["SQLite", true, openFile],
  ["PostgreSQL", hasPostgres, openSchema],
] as const;
