import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely, sql } from "kysely";
import { pino } from "pino";
import { createGateway, definePlugin } from "propylon";
import { type OpenDatabase, Database, type StoreDriver } from "propylon/store";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import { MemoryDriver } from "../../../core/store/memory.ts";
import { openDriver as openSqlite } from "../../../plugins/sqlite/driver.ts";
import { optionsSchema as sqliteOptions } from "../../../plugins/sqlite/options.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { makeFolder } from "../../kit/folder.ts";
import { freshSchema, hasPostgres, openDriver } from "../../plugins/postgres/kit.ts";
import { migrations } from "./migrations.mjs";
import { PATIENCE } from "../../fixtures/ci.ts";

const log = pino({ level: "silent" });
const MIGRATOR = fileURLToPath(new URL("migrator.mjs", import.meta.url));
const KILLS = Number(process.env["MIGRATION_KILLS"] ?? 2);

interface Tables {
  notes: { id: number; text: string | null };
  authors: { note: number; name: string };
  people: { note: number; name: string };
}

/** A database that nobody else uses. */
interface Place {
  readonly store: string;
  readonly schema?: string;
  open(): Promise<StoreDriver>;
}

let server: PostgresServer;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres(await freePort());
});
afterAll(() => server?.stop());

function createFile(): Place {
  const folder = makeFolder();
  const store = `sqlite:${join(folder, "gateway.db")}`;
  const options = sqliteOptions.parse({});
  return { store, open: () => openSqlite(store, { folder, options, log }) };
}

function createSchema(): Place {
  const schema = freshSchema();
  return { store: server.url, schema, open: () => openDriver(server.url, schema) };
}

async function openStore(place: Place): Promise<GatewayStore> {
  const store = new GatewayStore(await place.open(), log);
  onTestFinished(() => store.close());
  return store;
}

/** Everything that is there, by the names that it has in the database. */
async function look(place: Place): Promise<{ version: number; tables: string[]; rows: unknown[] }> {
  const driver = await place.open();
  const db = new Kysely<Record<string, Record<string, unknown>>>({
    dialect: await driver.dialect!(),
  });
  const all = await db.introspection.getTables();
  const mine = all.filter((table) => place.schema === undefined || table.schema === place.schema);
  const tables = mine.map(({ name }) => name).filter((name) => name.startsWith("my_notes__"));
  const { version } = (await db
    .selectFrom("propylon_migrations")
    .select("version")
    .executeTakeFirstOrThrow()) as { version: number };
  const rows: unknown[] = [];
  for (const table of tables.toSorted())
    rows.push(
      await db
        .selectFrom(table)
        .selectAll()
        .orderBy(sql.ref(table.endsWith("notes") ? "id" : "note"))
        .execute(),
    );
  await db.destroy();
  await driver.close();
  return { version, tables: tables.toSorted(), rows };
}

const PLACES = [
  ["SQLite", createFile, true],
  ["PostgreSQL", createSchema, hasPostgres],
] as const;

describe.each(PLACES)("relational data in %s", (_name, createPlace, isHere) => {
  it.runIf(isHere)("is a plugin's own, under names of its own", async () => {
    const store = await openStore(createPlace());
    const mine = await store.database<Tables>("my-notes", migrations);
    const others = await store.database<Tables>("other", migrations.slice(0, 1));
    await others.deleteFrom("notes").execute();
    expect(await others.selectFrom("notes").selectAll().execute()).toEqual([]);
    const joined = await mine
      .selectFrom("notes as n")
      .innerJoin("people", "people.note", "n.id")
      .select(["n.text", "people.name"])
      .where("n.id", "=", 7)
      .execute();
    expect(joined).toEqual([{ text: "new 7", name: "author 7" }]);
    const counted = await mine
      .with("few", (db) => db.selectFrom("notes").select("notes.id").where("notes.id", "<", 5))
      .selectFrom("few")
      .select((each) => each.fn.count("few.id").as("count"))
      .executeTakeFirstOrThrow();
    expect(Number(counted.count)).toBe(5);
    const longest = mine.selectFrom("notes").select((each) => each.fn.max("id").as("id"));
    const within = mine.selectFrom("notes").select("text").where("id", "=", longest);
    expect(await within.execute()).toEqual([{ text: "new 39" }]);
    const written = await sql<{
      id: number;
    }>`SELECT id FROM ${sql.table("notes")} WHERE id = 3`.execute(mine);
    expect(written.rows).toEqual([{ id: 3 }]);
    expect(mine.selectFrom("notes").select("text").compile().sql).toContain('"my_notes__notes"');
  });

  it.runIf(isHere)("runs each migration once, however many open it at once", async () => {
    const place = createPlace();
    const store = await openStore(place);
    const all = await Promise.all(
      Array.from({ length: 5 }, () => store.database<Tables>("my-notes", migrations)),
    );
    for (const db of all)
      expect(await db.selectFrom("people").selectAll().execute()).toHaveLength(40);
    await all[0]!.destroy();
    await all[1]!.schema.dropIndex("by_name").execute();
    await store.close();
    const { version, tables } = await look(place);
    expect({ version, tables }).toEqual({
      version: 3,
      tables: ["my_notes__notes", "my_notes__people"],
    });
  });

  it.runIf(isHere)("undoes all migrations when one fails, and begins anew", async () => {
    const store = await openStore(createPlace());
    const broken = [...migrations, (): Promise<never> => Promise.reject(new Error("It breaks."))];
    await expect(store.database("my-notes", broken)).rejects.toThrow("It breaks.");
    const db = await store.database<Tables>("my-notes", migrations);
    expect((await db.selectFrom("notes").selectAll().execute()).length).toBe(40);
  });

  it.runIf(isHere)("of a later version is refused by name, and stays", async () => {
    const store = await openStore(createPlace());
    await store.database("my-notes", migrations);
    await expect(store.database("my-notes", migrations.slice(0, 2))).rejects.toMatchObject({
      code: "invalid",
      message:
        'The tables of the plugin "my-notes" are of version 3, and this program knows versions up to 2.',
    });
    const db = await store.database<Tables>("my-notes", migrations);
    expect((await db.selectFrom("people").selectAll().execute()).length).toBe(40);
  });

  it.runIf(isHere)("with a name that is too long is refused", async () => {
    const store = await openStore(createPlace());
    const long = [(db: Kysely<never>) => db.schema.createTable("t".repeat(54)).execute()];
    await expect(store.database("my-notes", long as never)).rejects.toMatchObject({
      code: "invalid",
    });
  });

  it.runIf(isHere)(
    `is old or new after ${KILLS} killed migrations, never between`,
    { timeout: PATIENCE * (60_000 + KILLS * 10_000) },
    async () => {
      const seen = new Set<number>();
      // Follows the speed of the machine: the kills gather around the end of the migrations.
      let longest = 60;
      for (let kill = 0; kill < KILLS; kill++) {
        const place = createPlace();
        const store = new GatewayStore(await place.open(), log);
        await store.database("my-notes", migrations.slice(0, 1));
        await store.close();
        await killDuring(place, Math.random() * longest);
        const { version, tables, rows } = await look(place);
        seen.add(version);
        longest *= version === 1 ? 1.2 : 0.85;
        expect([1, 3]).toContain(version);
        expect(tables).toEqual(
          version === 1 ? ["my_notes__notes"] : ["my_notes__notes", "my_notes__people"],
        );
        const text = version === 1 ? "note" : "new";
        expect(rows[0]).toEqual(
          Array.from({ length: 40 }, (_, id) => ({ id, text: `${text} ${id}` })),
        );
        expect(rows.slice(1).flat()).toHaveLength(version === 1 ? 0 : 40);
      }
      expect(seen.size).toBeGreaterThanOrEqual(KILLS < 100 ? 1 : 2);
    },
  );
});

/** @param delay behind the beginning of the migrations, in milliseconds */
async function killDuring({ store, schema }: Place, delay: number): Promise<void> {
  const child = spawn(process.execPath, [MIGRATOR, store, schema ?? ""], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), delay));
  await closed;
}

describe("relational data without a database", () => {
  it("is refused, with the stores that hold it", async () => {
    const store = new GatewayStore(new MemoryDriver(), log);
    await expect(store.database("my-notes", [])).rejects.toMatchObject({
      code: "invalid",
      hint: "Set store: sqlite:./data/gateway.db in the config, or store: postgres://...",
    });
  });
});

describe.runIf(hasPostgres)("relational data of a server that is away", () => {
  it("is unavailable also for a query that is broken off", async () => {
    const own = await startPostgres(await freePort());
    onTestFinished(() => own.stop());
    const store = new GatewayStore(await openDriver(own.url, freshSchema()), log);
    onTestFinished(() => store.close());
    const db = await store.database<Tables>("my-notes", migrations);
    const sleeping = sql`SELECT pg_sleep(60)`.execute(db).catch((error: unknown) => error);
    const isAsleep = sql<{ n: string }>`
      SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'`;
    await expect.poll(async () => Number((await isAsleep.execute(db)).rows[0]?.n)).toBe(1);
    // What the database itself refuses stays what it is.
    await expect(sql`SELECT 1 / 0`.execute(db)).rejects.toMatchObject({ code: "22012" });
    await own.kill();
    expect(await sleeping).toMatchObject({ code: "unavailable" });
  });

  it("is unavailable, and there again when the server is", async () => {
    const own = await startPostgres(await freePort());
    onTestFinished(() => own.stop());
    const store = new GatewayStore(await openDriver(own.url, freshSchema()), log);
    onTestFinished(() => store.close());
    const db = await store.database<Tables>("my-notes", migrations);
    const read = (): Promise<unknown[]> => db.selectFrom("notes").selectAll().execute();
    await own.kill();
    expect(await read().catch((error: unknown) => error)).toBeInstanceOf(Error);
    await expect(read()).rejects.toMatchObject({ code: "unavailable" });
    await own.start();
    await expect
      .poll(() =>
        read().then(
          (rows) => rows.length,
          () => 0,
        ),
      )
      .toBe(40);
  });
});

it("a plugin opens its tables when it starts, and they are there at the next", async () => {
  const { store } = createFile();
  const counts: number[] = [];
  const count = async (openDatabase: OpenDatabase): Promise<void> => {
    const db = await openDatabase<Tables>(migrations);
    counts.push((await db.selectFrom("notes").selectAll().execute()).length);
    await db.deleteFrom("people").where("note", ">=", 30).execute();
    await db.deleteFrom("notes").where("id", ">=", 30).execute();
  };
  const notes = definePlugin({
    name: "my-notes",
    inject: { openDatabase: Database },
    setup: (gateway) => gateway.onStart(() => count(gateway.services.openDatabase)),
  });
  for (let start = 0; start < 2; start++) {
    const gateway = await createGateway(
      { store, plugins: { "my-notes": {} }, listeners: { main: { port: 0 } } },
      { plugins: { "my-notes": notes }, log },
    );
    await gateway.listen();
    await gateway.close();
  }
  expect(counts).toEqual([40, 30]);
});
