import { Writable } from "node:stream";
import pg from "pg";
import { pino } from "pino";
import { createGateway, isGatewayError } from "propylon";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import { messageNotices, readNotice } from "../../../plugins/postgres/notices.ts";
import { readAddress } from "../../../plugins/postgres/address.ts";
import { startPostgres } from "../../fixtures/postgres/postgres.mjs";
import type { PostgresServer } from "../../fixtures/postgres/types.ts";
import { driverOf, freshSchema, hasPostgres, openDriver, until } from "./kit.ts";
import { startPooler } from "./pooler.ts";

const PASSWORD = "p@ss/word:1";

async function failureOf(work: Promise<unknown>): Promise<{ message: string; hint: string }> {
  const error = await work.then(
    () => expect.unreachable("It did not fail."),
    (thrown: unknown) => thrown,
  );
  if (!isGatewayError(error)) throw error;
  const told = JSON.stringify([error.message, error.hint, error.data]);
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(told).not.toContain(secret);
  return { message: error.message, hint: error.hint ?? "" };
}

describe.runIf(hasPostgres)("a store in PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(await freePort());
  });
  afterAll(() => server.stop());

  async function query(text: string): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      return await client.query(text);
    } finally {
      await client.end();
    }
  }

  it("is opened by many gateways at once, and made once", async () => {
    const schema = freshSchema();
    const drivers = await Promise.all(
      Array.from({ length: 6 }, () => driverOf(server.url, schema)),
    );
    await drivers[0]!.put("bucket", "key", "value");
    for (const driver of drivers) expect((await driver.get("bucket", "key"))?.value).toBe("value");
    expect((await query(`SELECT * FROM "${schema}".store_version`)).rows).toEqual([{ version: 1 }]);
  });

  it("of a later version is refused, and stays as it is", async () => {
    const schema = freshSchema();
    await (await openDriver(server.url, schema)).close();
    await query(`UPDATE "${schema}".store_version SET version = 7`);
    const { message } = await failureOf(openDriver(server.url, schema));
    expect(message).toBe(
      `The tables in the schema "${schema}" have version 7, made by a newer Propylon; this one knows version 1.`,
    );
  });

  it("is apart from that of another schema", async () => {
    const [one, other] = await Promise.all([
      driverOf(server.url, freshSchema()),
      driverOf(server.url, freshSchema()),
    ]);
    const told: unknown[] = [];
    await other.watch("bucket", (key) => told.push(key));
    await one.put("bucket", "key", "value");
    expect(await other.get("bucket", "key")).toBeUndefined();
    await other.put("bucket", "own", "value");
    await until(() => told.includes("own"));
    expect(told).toEqual(["own"]);
  });

  it("is used by a user without the right to create schemas, where it is made", async () => {
    const schema = freshSchema();
    await query(
      `CREATE ROLE "${schema}" LOGIN PASSWORD 'x'; CREATE SCHEMA "${schema}" AUTHORIZATION "${schema}"`,
    );
    const url = server.url.replace(/\/\/.*@/, `//${schema}:x@`);
    const driver = await driverOf(url, schema);
    expect(await driver.put("bucket", "key", "value")).toBeGreaterThan(0);
    const { hint } = await failureOf(openDriver(url, freshSchema()));
    expect(hint).toContain("GRANT CREATE ON DATABASE");
  });

  it("is refused behind a pooler that drops notifications, with a warning", async () => {
    const pooler = await startPooler(server.port, false);
    const lines: string[] = [];
    const log = pino(
      { level: "warn" },
      new Writable({
        write: (chunk, _encoding, done) => {
          lines.push(String(chunk));
          done();
        },
      }),
    );
    const { message, hint } = await failureOf(
      openDriver(pooler.url(server.url), freshSchema(), log),
    );
    expect(message).toBe("The store's connection to PostgreSQL gets no notifications.");
    expect(hint).toContain("session mode");
    expect(lines.join("")).toContain("gets no notifications");
  });

  it("tells everyone who watches when its connection for changes was cut", async () => {
    const pooler = await startPooler(server.port, true);
    const schema = freshSchema();
    const driver = await driverOf(pooler.url(server.url), schema);
    const direct = await driverOf(server.url, schema);
    const told: (string | undefined)[] = [];
    const messages: string[] = [];
    let follows = 0;
    await driver.watch("bucket", (key) => told.push(key));
    await driver.follow("log", () => follows++);
    await driver.subscribe("topic", (message) => messages.push(message));
    pooler.cut();
    await direct.put("bucket", "missed", "value");
    await until(() => told.includes(undefined) && follows > 0);
    await direct.put("bucket", "seen", "value");
    await direct.publish("topic", "again");
    await until(() => told.at(-1) === "seen" && messages.includes("again"));
    expect((await driver.get("bucket", "missed"))?.value).toBe("value");
  });

  it("carries messages of 8,000 bytes whole, in order, of several senders", async () => {
    const schema = freshSchema();
    const [one, other] = await Promise.all([
      driverOf(server.url, schema),
      driverOf(server.url, schema),
    ]);
    const messages: string[] = [];
    await one.subscribe("topic", (message) => messages.push(message));
    const fill = ["x".repeat(8_000), "👋".repeat(2_000), "ü".repeat(4_000), "", " a b "];
    const send = async (driver: typeof one, name: string): Promise<void> => {
      for (const text of fill) await driver.publish("topic", name + text);
    };
    await Promise.all([send(one, "1"), send(other, "2")]);
    await until(() => messages.length >= 2 * fill.length);
    for (const name of ["1", "2"])
      expect(messages.filter((message) => message.startsWith(name))).toEqual(
        fill.map((text) => name + text),
      );
  });

  it("removes values that ended, and tells of it", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const schema = freshSchema();
    const driver = await driverOf(server.url, schema);
    const told = new Set<string | undefined>();
    await driver.watch("bucket", (key) => told.add(key));
    const ended = Date.now() - 1;
    for (let step = 0; step < 1_200; step += 100)
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          driver.put("bucket", `${step + index}`, "v", { until: ended }),
        ),
      );
    await driver.put("bucket", "stays", "v");
    await until(() => told.has("stays"));
    told.clear();
    vi.advanceTimersByTime(45_000);
    await until(() => told.size === 1_200);
    expect((await query(`SELECT key FROM "${schema}".store_kv`)).rows).toEqual([{ key: "stays" }]);
  });

  it("drops what is not to stay of a log in batches, by count and by age", async () => {
    const schema = freshSchema();
    const driver = await driverOf(server.url, schema);
    await driver.append(
      "log",
      Array.from({ length: 1_700 }, (_, index) => `${index}`),
    );
    await driver.append("other", ["stays"]);
    await driver.trim("log", { maxEntries: 10 });
    const left = (await driver.read("log", 0, 100)).map(({ value }) => value);
    expect(left).toEqual(Array.from({ length: 10 }, (_, index) => `${1_690 + index}`));
    await query(
      `UPDATE "${schema}".store_log SET at = at - interval '1 hour' WHERE value < '1695'`,
    );
    await driver.trim("log", { maxEntries: 100, before: Date.now() - 60_000 });
    expect(await driver.read("log", 0, 100)).toHaveLength(5);
    await driver.trim("log", { maxEntries: 100, before: Date.now() + 60_000 });
    expect(await driver.read("log", 0, 100)).toEqual([]);
    expect(await driver.read("other", 0, 100)).toHaveLength(1);
  });

  it("is the store of a gateway, and says where the config is wrong", async () => {
    const log = pino({ level: "silent" });
    const options = { log, plugins: { postgres } };
    const listeners = { main: { port: 0 } };
    const gateway = await createGateway({ store: server.url, listeners }, options);
    onTestFinished(() => gateway.close());
    const wrong = server.url.replace(/\/\/.*@/, "//gateway:wrong-password@");
    const error = await createGateway({ store: wrong, listeners }, options).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "io_error", place: { path: "store" } });
    expect(JSON.stringify([error, (error as Error).message])).not.toContain("wrong-password");
  });
});

describe("the URL of a store in PostgreSQL", () => {
  it.each([
    ["postgres://user:secret@db.example:6432/state", "db.example:6432/state"],
    ["postgresql://user:secret@db.example/state?sslmode=disable", "db.example:5432/state"],
  ])("%s is told without credentials", (url, name) => {
    expect(readAddress(url, ".").name).toBe(name);
  });

  it.each([
    ["disable", false],
    ["require", { rejectUnauthorized: false }],
    ["verify-full", {}],
  ])("has the TLS of sslmode=%s", (mode, ssl) => {
    const { config } = readAddress(`postgres://db.example/state?sslmode=${mode}`, ".");
    expect(JSON.stringify(config.ssl)).toBe(JSON.stringify(ssl));
    expect(config.connectionString).not.toContain("sslmode");
  });

  it.each(["prefer", "allow", "whatever"])("with sslmode=%s is refused", async (mode) => {
    const open = openDriver(
      `postgres://u:${encodeURIComponent(PASSWORD)}@h/d?sslmode=${mode}`,
      "s",
    );
    expect((await failureOf(open)).message).toContain(`sslmode=${mode}`);
  });

  it.each([
    ["postgres://u:p%40ss%2Fword%3A1@[broken", "cannot be read"],
    ["postgres://u:p%40ss%2Fword%3A1@127.0.0.1:1/d", "ECONNREFUSED"],
    ["postgres://u:p%40ss%2Fword%3A1@h/d?sslmode=verify-full&sslrootcert=no.pem", "no.pem"],
  ])("%s is refused without its password", async (url, reason) => {
    expect((await failureOf(openDriver(url, "s"))).message).toContain(reason);
  });
});

it("no piece of a message has half a character, nor more bytes than a notice carries", () => {
  for (const text of ["", "a", `x${"👋".repeat(2_000)}`, "€".repeat(2_666), "x".repeat(2_400)]) {
    const notices = messageNotices("t".repeat(128), text);
    for (const notice of notices) expect(Buffer.byteLength(notice)).toBeLessThan(8_000);
    expect(new Set(notices).size).toBe(notices.length);
    const read = notices.map((notice) => readNotice(notice)!);
    expect(read.map((notice) => notice.text).join("")).toBe(text);
    for (const { text: piece } of read) expect(Buffer.from(piece).toString()).toBe(piece);
  }
});
