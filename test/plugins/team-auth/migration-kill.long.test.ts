import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely } from "kysely";
import { pino } from "pino";
import type { StoreDriver } from "propylon/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { openDriver as openSqlite } from "../../../plugins/sqlite/driver.ts";
import { optionsSchema as sqliteOptions } from "../../../plugins/sqlite/options.ts";
import { verifyAudit } from "../../../plugins/team-auth/audit/audit-check.ts";
import { appendAudit } from "../../../plugins/team-auth/audit/audit.ts";
import { MIGRATIONS } from "../../../plugins/team-auth/tables/migrations.ts";
import { type Tables, timestamp } from "../../../plugins/team-auth/tables/tables.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { makeFolder } from "../../kit/folder.ts";
import { freshSchema, hasPostgres, openDriver } from "../postgres/kit.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

const MIGRATOR = fileURLToPath(new URL("migrator.mjs", import.meta.url));
const KILLS = Number(process.env["MIGRATION_KILLS"] ?? 2);
const log = pino({ level: "silent" });

/** A database that nobody else uses. */
interface Place {
  readonly store: string;
  readonly schema?: string;
  readonly open: () => Promise<StoreDriver>;
}

let server: PostgresServer;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

function createFile(): Place {
  const folder = makeFolder();
  const store = `sqlite:${join(folder, "gateway.db")}`;
  return {
    store,
    open: () => openSqlite(store, { folder, options: sqliteOptions.parse({}), log }),
  };
}

function createSchema(): Place {
  const schema = freshSchema();
  return { store: server.url, schema, open: () => openDriver(server.url, schema) };
}

/** Tables of an earlier program, with a user. */
async function prepare(place: Place, version: number): Promise<void> {
  const store = new GatewayStore(await place.open(), log);
  const db = await store.database<Tables>("team-auth", MIGRATIONS.slice(0, version));
  if (version > 0) {
    const row = { id: "ada", name: "Ada", active: 1, created_at: timestamp() };
    await db.insertInto("user").values(row).execute();
  }
  await store.close();
}

/** The version and the tables as they are in the database. */
async function look(place: Place): Promise<{ version: number; tables: readonly string[] }> {
  const driver = await place.open();
  const dialect = await driver.dialect!();
  const db = new Kysely<{ propylon_migrations: { version: number } }>({ dialect });
  const all = await db.introspection.getTables();
  const mine = all.filter(({ schema }) => place.schema === undefined || schema === place.schema);
  const row = await db.selectFrom("propylon_migrations").select("version").executeTakeFirst();
  await db.destroy();
  await driver.close();
  const names = mine.map(({ name }) => name).filter((name) => name.startsWith("team_auth__"));
  return { version: row?.version ?? 0, tables: names.toSorted() };
}

async function killDuring({ store, schema }: Place, delay: number): Promise<void> {
  const child = spawn(process.execPath, [MIGRATOR, store, schema ?? ""], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let hasBegun = false;
  child.stdout.once("data", () => {
    hasBegun = true;
    setTimeout(() => child.kill("SIGKILL"), delay);
  });
  await closed;
  expect(hasBegun).toBe(true);
}

const PLACES = [
  ["SQLite", true, createFile],
  ["PostgreSQL", hasPostgres, createSchema],
] as const;

describe.each(PLACES)("the tables of team-auth in %s", (_name, isHere, createPlace) => {
  it.runIf(isHere)(
    `are old or new after ${KILLS} gateways that were killed while they started, and open at the next`,
    { timeout: PATIENCE * (60_000 + KILLS * 10_000) },
    async () => {
      const whole = createPlace();
      await prepare(whole, MIGRATIONS.length);
      const { tables: newest } = await look(whole);
      for (let kill = 0; kill < KILLS; kill++) {
        const place = createPlace();
        const before = kill % MIGRATIONS.length;
        await prepare(place, before);
        const old = await look(place);
        await killDuring(place, Math.random() * 80);
        const now = await look(place);
        expect([before, MIGRATIONS.length]).toContain(now.version);
        expect(now.tables).toEqual(now.version === before ? old.tables : newest);
        const store = new GatewayStore(await place.open(), log);
        const db = await store.database<Tables>("team-auth", MIGRATIONS);
        const users = await db.selectFrom("user").select("id").execute();
        expect(users).toEqual(before > 0 ? [{ id: "ada" }] : []);
        const entry = { at: timestamp(), actor: "a", action: "b", target: "c" };
        await db.transaction().execute((trx) => appendAudit(trx, entry));
        expect(await verifyAudit(db)).toMatchObject({ ok: true, rows: 1 });
        await store.close();
      }
    },
  );
});
