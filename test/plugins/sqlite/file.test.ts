import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely, sql } from "kysely";
import { type Logger, pino } from "pino";
import { createGateway } from "propylon";
import { expect, it, onTestFinished, vi } from "vitest";
import { StoreConnection } from "../../../core/store/connection.ts";
import { CheckpointThread } from "../../../plugins/sqlite/checkpoint-thread.ts";
import { Checkpoints } from "../../../plugins/sqlite/checkpoints.ts";
import { openDriver, type SqliteDriver } from "../../../plugins/sqlite/driver.ts";
import { openEngine } from "../../../plugins/sqlite/engine.ts";
import { createFile, openTables } from "../../../plugins/sqlite/file.ts";
import { optionsSchema } from "../../../plugins/sqlite/options.ts";
import { PreparedStatements } from "../../../plugins/sqlite/statements.ts";
import { Writes } from "../../../plugins/sqlite/writes.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { makeFolder } from "../../kit/folder.ts";

const log = pino({ level: "silent" });
const WRITER = fileURLToPath(new URL("writer.mjs", import.meta.url));
const KILLS = Number(process.env["STORE_KILLS"] ?? 4);

/** A turn of the loop, at the end of which what was written before is in the file. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const openIn = (folder: string, options: object = {}): Promise<SqliteDriver> =>
  openDriver("sqlite:gateway.db", { folder, options: optionsSchema.parse(options), log });

it("belongs to one process, and the second is told whose it is", async () => {
  const folder = makeFolder();
  const config = { store: "sqlite:data/gateway.db", listeners: { main: { port: 0 } } };
  const first = await createGateway(config, { cwd: folder, log });
  await expect(createGateway(config, { cwd: folder, log })).rejects.toMatchObject({
    code: "exists",
    message: expect.stringContaining(`process ${process.pid} on`) as string,
    place: expect.objectContaining({ path: "store" }) as object,
  });
  await first.close();
  const third = await createGateway(config, { cwd: folder, log });
  await third.close();
});

it("loses what has ended as fast as it ends", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const folder = makeFolder();
  const driver = await openIn(folder);
  for (let at = 0; at < 1_300; at++)
    await driver.put("bucket", `key${at}`, "1", { until: Date.now() - 1 });
  await driver.put("bucket", "forever", "1");
  const reader = await openEngine(join(folder, "gateway.db"));
  const count = (): unknown => reader.prepare("SELECT count(*) AS n FROM kv").get()?.["n"];
  vi.advanceTimersByTime(10_000);
  for (let left = 1_201; left >= 1; left -= 100) {
    await turn();
    expect(count()).toBe(left);
    vi.advanceTimersByTime(20);
  }
  reader.close();
  await driver.close();
});

it("can be read by its owner only", async () => {
  const folder = makeFolder();
  const driver = await openIn(folder);
  await driver.put("bucket", "key", "value");
  for (const name of readdirSync(folder))
    expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([name, 0]);
  await driver.close();
});

it("of a later version is refused, and stays as it is", async () => {
  const folder = makeFolder();
  await (await openIn(folder)).close();
  const engine = await openEngine(join(folder, "gateway.db"));
  engine.exec("PRAGMA user_version = 7");
  engine.close();
  await expect(openIn(folder)).rejects.toMatchObject({
    code: "io_error",
    message: "The store gateway.db is of version 7, and this gateway knows versions up to 2.",
  });
});

it("that is no database is refused, and nothing holds it", async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "gateway.db"), "this is a text, and a long one at that. ".repeat(100));
  await expect(openIn(folder)).rejects.toMatchObject({ code: "io_error" });
  rmSync(join(folder, "gateway.db"));
  await (await openIn(folder)).close();
});

it.each(["sqlite:", "sqlite::memory:", "sqlite://host/file"])(
  "named %j is refused",
  async (url) => {
    const host = { folder: makeFolder(), options: optionsSchema.parse({}), log };
    await expect(openDriver(url, host)).rejects.toMatchObject({ code: "invalid" });
  },
);

it("takes the writes of one turn together, and one that fails takes no other along", async () => {
  const driver = await openIn(makeFolder(), { maxSize: "256KB" });
  const first = driver.put("bucket", "first", "x");
  const large = driver.put("bucket", "large", "x".repeat(400_000));
  const second = driver.append("log", ["a", "b"]);
  const third = driver.put("bucket", "third", "x");
  await expect(large).rejects.toMatchObject({ message: "The gateway's store is full." });
  expect(await third).toBeGreaterThan((await first)!);
  expect(await second).toBe(2);
  const stored = await driver.list("bucket", { prefix: "", limit: 10 });
  expect(stored.map(({ key }) => key)).toEqual(["first", "third"]);
  await driver.close();
});

/** Writes of a file whose commits take so many milliseconds. */
function slowWrites(commitMs: number): Writes {
  const together = (work: () => unknown): unknown => {
    const result = work();
    for (const until = performance.now() + commitMs; performance.now() < until;);
    return result;
  };
  const statements = { together } as unknown as PreparedStatements;
  return new Writes({ statements, committed: vi.fn<() => void>(), undone: vi.fn<() => void>() });
}

it("gives others their turn while it repeats what one write undid, in its order", async () => {
  const writes = slowWrites(2);
  const done: number[] = [];
  const write = (at: number): Promise<unknown> =>
    writes.add(() => {
      if (at === 29) throw new Error("no");
      return at;
    });
  const writing = Array.from({ length: 31 }, (_, at) =>
    write(at).then(
      () => done.push(at),
      () => {},
    ),
  );
  let isOver = false;
  const all = Promise.all(writing).then(() => (isOver = true));
  let turns = 0;
  for (; !isOver; turns++) await turn();
  await all;
  expect(done).toEqual([...Array(31).keys()].filter((at) => at !== 29));
  expect(turns).toBeGreaterThan(20);
});

it("refuses writes while too much waits", async () => {
  const writes = slowWrites(0);
  writes.hold();
  const [mega, none] = [1_024 * 1_024, (): void => {}];
  const large = writes.add(none, 100 * mega);
  await expect(writes.add(none, 1)).rejects.toMatchObject({ code: "unavailable" });
  writes.release();
  await large;
  writes.hold();
  const small = Array.from({ length: 70_000 }, () => writes.add(none));
  writes.release();
  const ends = await Promise.allSettled(small);
  expect(ends.findIndex(({ status }) => status === "rejected")).toBe(65_536 + 1);
  await writes.add(none, 30 * mega);
});

it("sets revisions aside again that a transaction had set aside which failed", async () => {
  const folder = makeFolder();
  const driver = await openIn(folder, { maxSize: "512KB" });
  for (let at = 0; at < 999; at++) void driver.put("bucket", "key", "1");
  await driver.put("bucket", "key", "1");
  const last = driver.put("bucket", "key", "2");
  await expect(driver.put("bucket", "large", "x".repeat(800_000))).rejects.toThrow(/full/);
  await driver.close();
  const next = await openIn(folder);
  expect(await next.put("bucket", "key", "3")).toBeGreaterThan((await last)!);
  await next.close();
});

it("of version 1 is taken over, with one entry in each row of its logs", async () => {
  const folder = makeFolder();
  await (await openIn(folder)).close();
  const engine = await openEngine(join(folder, "gateway.db"));
  engine.exec("ALTER TABLE log DROP COLUMN count; PRAGMA user_version = 1");
  for (const value of ["a", "3:bcd"])
    engine.prepare("INSERT INTO log (log, at, value) VALUES ('log', 7, ?)").run(value);
  engine.close();
  const driver = await openIn(folder);
  expect(await driver.append("log", ["e", "f"])).toBe(4);
  expect((await driver.read("log", 0, 9)).map(({ seq, value }) => [seq, value])).toEqual([
    [1, "a"],
    [2, "3:bcd"],
    [3, "e"],
    [4, "f"],
  ]);
  await driver.trim("log", { maxEntries: 1 });
  expect((await driver.read("log", 0, 9)).map(({ value }) => value)).toEqual(["f"]);
  await driver.close();
});

it.each([
  ["short", ["", "1,2:", "\u{1f600}", "{}", ""]],
  ["many", Array.from({ length: 1_234 }, (_, at) => `${at}`)],
  [
    "long",
    ["x".repeat(200_000), "y", "z".repeat(65_536), "", "a".repeat(40_000), "b".repeat(40_000)],
  ],
])("keeps each of %s entries that came together, and its place", async (_, values) => {
  const driver = await openIn(makeFolder());
  expect(await driver.append("log", values)).toBe(values.length);
  const stored = await driver.read("log", 0, 2_000);
  expect(stored.map(({ value }) => value)).toEqual(values);
  expect(stored.map(({ seq }) => seq)).toEqual(values.map((_value, at) => at + 1));
  expect(await driver.read("log", values.length - 3, 2)).toEqual(stored.slice(-3, -1));
  await driver.close();
});

/** A log whose entries came one after the other, so that each has a row. */
async function appendEach(driver: SqliteDriver, name: string, entries: number): Promise<void> {
  await Promise.all(Array.from({ length: entries }, (_, at) => driver.append(name, [`${at}`])));
}

it("is cleared of a log at once for those who read it, and a little at a time", async () => {
  const folder = makeFolder();
  const driver = await openIn(folder);
  const reader = await openEngine(join(folder, "gateway.db"));
  const count = (): unknown => reader.prepare("SELECT count(*) AS n FROM log").get()?.["n"];
  await appendEach(driver, "log", 1_000);
  let isOver = false;
  const clearing = driver.trim("log", { maxEntries: 0 }).then(() => (isOver = true));
  const [seen, left] = [new Set<number>(), new Set<unknown>()];
  while (!isOver) {
    seen.add((await driver.read("log", 0, 2_000)).length);
    left.add(count());
    await turn();
  }
  await clearing;
  expect([...seen]).toEqual([1_000, 0]);
  expect(left.size).toBeGreaterThan(9);
  expect(count()).toBe(0);
  expect(reader.prepare("SELECT name FROM counter WHERE name LIKE 'mark%'").all()).toEqual([]);
  reader.close();
  await driver.close();
});

it("goes on with the clearing of a log that the end of a process interrupted", async () => {
  const folder = makeFolder();
  const driver = await openIn(folder);
  await appendEach(driver, "log", 300);
  await driver.close();
  const engine = await openEngine(join(folder, "gateway.db"));
  engine.exec("INSERT INTO counter (name, value) VALUES ('mark log', 300)");
  const next = await openIn(folder);
  expect(await next.read("log", 0, 10)).toEqual([]);
  expect(await next.append("log", ["new"])).toBe(301);
  await vi.waitFor(() =>
    expect(engine.prepare("SELECT count(*) AS n FROM log").get()).toMatchObject({ n: 1 }),
  );
  expect((await next.read("log", 0, 10)).map(({ value }) => value)).toEqual(["new"]);
  engine.close();
  await next.close();
});

it("drops what is too much of a long log a little at a time, and what is too old", async () => {
  const driver = await openIn(makeFolder());
  await appendEach(driver, "long", 5_000);
  await driver.append("other", ["a"]);
  let turns = 0;
  let isOver = false;
  const trimming = driver.trim("long", { maxEntries: 1_000 }).then(() => (isOver = true));
  const more = driver.append("long", ["5000"]);
  while (!isOver) {
    await turn();
    turns++;
  }
  await Promise.all([trimming, more]);
  expect(turns).toBeGreaterThan(30);
  const left = await driver.read("long", 0, 10_000);
  expect([left.length, left[0]?.value, left.at(-1)?.value]).toEqual([1_000, "4001", "5000"]);
  await driver.trim("long", { maxEntries: 1_000, before: Date.now() + 1 });
  expect(await driver.read("long", 0, 10)).toEqual([]);
  expect(await driver.read("other", 0, 10)).toHaveLength(1);
  await driver.close();
});

it("has its log of writes copied by a thread, which keeps it short", async () => {
  const folder = makeFolder();
  const driver = await openIn(folder);
  const checkpoints = async (): Promise<number> => {
    const reader = await openEngine(join(folder, "gateway.db"));
    const row = reader.prepare("SELECT value FROM counter WHERE name = 'checkpoint'").get();
    reader.close();
    return Number(row?.["value"] ?? 0);
  };
  const text = "x".repeat(40_000);
  for (let copied = 0; copied < 2; copied = await checkpoints())
    for (let at = 0; at < 100; at++) await driver.put("bucket", `${at % 10}`, text);
  expect(statSync(join(folder, "gateway.db-wal")).size).toBeLessThan(64_000_000);
  await driver.close();
  const left = statSync(join(folder, "gateway.db-wal"), { throwIfNoEntry: false });
  expect(left?.size ?? 0).toBe(0);
});

it("whose disk hangs refuses everything after 5 s, is told of as away, and comes back with the disk", async () => {
  const driver = await openIn(makeFolder());
  const connection = new StoreConnection(driver, log);
  let answer!: () => void;
  const disk = new Promise<void>((resolve) => (answer = resolve));
  const asked = vi.spyOn(CheckpointThread.prototype, "do");
  onTestFinished(() => asked.mockRestore());
  asked.mockImplementation((step) => (step === "finish" ? disk : Promise.resolve()));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const text = "x".repeat(1_000_000);
  while (!asked.mock.calls.some(([step]) => step === "finish"))
    await driver.put("bucket", "large", text);
  const write = connection.run(() => driver.put("bucket", "key", "1"));
  const refused = write.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await refused).toMatchObject({ code: "unavailable" });
  expect(connection.awayFor).toBeGreaterThan(0);
  const late = connection.run(() => driver.append("log", ["1"]));
  await expect(late).rejects.toMatchObject({ code: "unavailable" });
  const read = connection.run(() => driver.get("bucket", "large"));
  await expect(read).rejects.toMatchObject({ code: "unavailable" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connection.awayFor).toBeGreaterThan(0);
  answer();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(connection.awayFor).toBe(0);
  expect(await driver.get("bucket", "key")).toBeUndefined();
  expect(await driver.put("bucket", "key", "2")).toBeGreaterThan(0);
  vi.useRealTimers();
  asked.mockRestore();
  await connection.close();
});

it("whose disk hangs can be closed", async () => {
  const statements = { exec: vi.fn<() => void>() } as unknown as PreparedStatements;
  const asked = vi.spyOn(CheckpointThread.prototype, "do").mockReturnValue(new Promise(() => {}));
  const left = vi.spyOn(CheckpointThread.prototype, "leave");
  onTestFinished(() => void vi.restoreAllMocks());
  const checkpoints = new Checkpoints({
    thread: { path: "none", module: undefined, synchronous: "normal", journalSize: 0 },
    statements,
    writes: { hold: vi.fn<() => void>(), release: vi.fn<() => void>() },
    log,
  });
  checkpoints.note(4_000);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const closed = checkpoints.close();
  await vi.advanceTimersByTimeAsync(5_000);
  await closed;
  expect(asked).toHaveBeenCalledWith("copy");
  expect(left).toHaveBeenCalledOnce();
});

it("copies its log of writes itself where no thread can, and says so", async () => {
  const folder = makeFolder();
  await createFile(join(folder, "gateway.db"));
  const path = join(folder, "gateway.db");
  const statements = new PreparedStatements(await openTables(path, optionsSchema.parse({})));
  const warn = vi.fn<Logger["warn"]>();
  const checkpoints = new Checkpoints({
    thread: { path, module: join(folder, "missing.js"), synchronous: "normal", journalSize: 0 },
    statements,
    writes: { hold: vi.fn<() => void>(), release: vi.fn<() => void>() },
    log: Object.assign(pino({ level: "silent" }), { warn }),
  });
  checkpoints.note(4_000);
  await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
  await checkpoints.close();
  expect(statements.get("PRAGMA wal_autocheckpoint")).toMatchObject({ wal_autocheckpoint: 1_000 });
  statements.close();
});

it("that is full refuses writes, and is read and deleted from", async () => {
  const driver = await openIn(makeFolder(), { maxSize: "256KB" });
  await driver.put("bucket", "first", "x");
  const fill = async (): Promise<void> => {
    for (let step = 0; step < 100; step++)
      await driver.put("bucket", `${step}`, "x".repeat(20_000));
  };
  await expect(fill()).rejects.toMatchObject({
    code: "unavailable",
    message: "The gateway's store is full.",
  });
  expect((await driver.get("bucket", "first"))?.value).toBe("x");
  expect(await driver.delete("bucket", "0")).toBe(true);
  expect(await driver.delete("bucket", "1")).toBe(true);
  expect(await driver.put("bucket", "again", "x".repeat(20_000))).toBeGreaterThan(0);
  await driver.close();
});

it("rest-13: a transaction that a full file ends says why, and not that there is nothing to undo", async () => {
  const driver = await openIn(makeFolder(), { maxSize: "256KB" });
  const fill = async (): Promise<void> => {
    for (let step = 0; step < 100; step++)
      await driver.append(
        "log",
        Array.from({ length: 5 }, () => "x".repeat(20_000)),
      );
  };
  const error = await fill().catch((thrown: unknown) => thrown as Error);
  expect(error).toMatchObject({ code: "unavailable", message: "The gateway's store is full." });
  expect(String((error as Error).cause)).toMatch(/full/);
  expect(String((error as Error).cause)).not.toMatch(/rollback/i);
  await driver.close();
});

it("rest-13: a transaction over tables that a full file ends says why", async () => {
  const driver = await openIn(makeFolder(), {});
  const db = new Kysely<{ note: { text: string } }>({ dialect: await driver.dialect() });
  await db.schema.createTable("note").addColumn("text", "text").execute();
  await sql`PRAGMA max_page_count = 8`.execute(db);
  const filling = db.transaction().execute(async (queries) => {
    for (let step = 0; step < 100; step++)
      await queries
        .insertInto("note")
        .values({ text: "x".repeat(20_000) })
        .execute();
  });
  await expect(filling).rejects.toThrow(/full/);
  expect(await db.selectFrom("note").selectAll().execute()).toEqual([]);
  await db.destroy();
  await driver.close();
});

it(
  `keeps what was confirmed through ${KILLS} kill -9`,
  { timeout: PATIENCE * (30_000 + KILLS * 5_000) },
  async () => {
    const folder = makeFolder();
    let last = { step: 0, rev: 0, seq: 0 };
    for (let kill = 0; kill < KILLS; kill++) {
      const confirmed = await writeUntilKilled(folder, last.step, 50 + (kill % 40) * 37);
      expect(confirmed.rev).toBeGreaterThan(last.rev);
      expect(confirmed.seq).toBeGreaterThan(last.seq);
      last = await check(folder, confirmed);
    }
  },
);

interface Confirmed {
  readonly step: number;
  readonly rev: number;
  readonly seq: number;
}

/** Kills the writer when it has confirmed so many steps. */
async function writeUntilKilled(folder: string, from: number, steps: number): Promise<Confirmed> {
  const child = spawn(process.execPath, [WRITER, folder, String(from)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    if (output.split("\n").length > steps) child.kill("SIGKILL");
  });
  const [, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  expect(signal).toBe("SIGKILL");
  const lines = output.slice(0, output.lastIndexOf("\n")).split("\n");
  const [step, rev, seq] = lines.at(-1)!.split(" ").map(Number);
  return { step: step!, rev: rev!, seq: seq! };
}

/** Everything that was confirmed is there, and at most the step after it. */
async function check(folder: string, { step, rev, seq }: Confirmed): Promise<Confirmed> {
  const driver = await openIn(folder);
  const entries = await driver.read("steps", 0, 1_000_000);
  const values = entries.map(({ value }) => value);
  const written = values.length / 2;
  expect([step, step + 1]).toContain(written);
  expect(values).toEqual(
    Array.from({ length: written }, (_, index) => [`${index + 1}a`, `${index + 1}b`]).flat(),
  );
  expect(entries[step * 2 - 1]!.seq).toBe(seq);
  const stored = await driver.list("counts", { prefix: "", limit: 100 });
  const highest = Math.max(...stored.map(({ value }) => Number(value)));
  expect([step, step + 1, step + 2]).toContain(highest);
  const revs = stored.filter(({ value }) => Number(value) === step).map((entry) => entry.rev);
  expect([[], [rev]]).toContainEqual(revs);
  await driver.close();
  return { step: written, rev, seq };
}
