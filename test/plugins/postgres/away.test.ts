import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { GatewayStore } from "../../../core/store/gateway-store.ts";
import type { StoreDriver } from "../../../core/store/driver.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { driverOf, freshSchema, openDriver, startServer, until } from "./kit.ts";

const WRITER = fileURLToPath(new URL("writer.mjs", import.meta.url));
const KILLS = Number(process.env["STORE_KILLS"] ?? 4);
const CRASHES = Number(process.env["STORE_CRASHES"] ?? 3);
const log = pino({ level: "silent" });

it.each(["SIGQUIT", "SIGKILL"] as const)(
  "a server that ends by %s and comes back: watchers catch up, and nothing confirmed is lost",
  { timeout: 120_000 },
  async (signal) => {
    const server = await startServer();
    const schema = freshSchema();
    const writer = await driverOf(server.url, schema);
    const gateway = new GatewayStore(await openDriver(server.url, schema), log);
    onTestFinished(() => gateway.close());
    const store = gateway.scope("tests");
    const seen = new Map<string, string | undefined>();
    const followed: string[] = [];
    await store.kv<string>("bucket").watch("", (key, entry) => seen.set(key, entry?.value));
    await store
      .log<string>("log", { maxEntries: 1e6 })
      .follow(0, ({ value }) => followed.push(value));
    const confirmed = new Map<string, string>();
    const appended: string[] = [];
    const work = new AbortController();
    const write = async (): Promise<void> => {
      for (let step = 1; !work.signal.aborted; step++) {
        const key = `key${step % 20}`;
        if (await isDone(writer.put("tests/bucket", key, `1:"${step}"`)))
          confirmed.set(key, `${step}`);
        else confirmed.delete(key);
        if (await isDone(writer.append("tests/log", [`1:"${step}"`]))) appended.push(`${step}`);
      }
    };
    const writing = write();
    for (let crash = 0; crash < CRASHES; crash++) {
      const before = appended.length;
      await until(() => appended.length > before + 50, 30_000);
      await server.restart(signal);
    }
    const before = appended.length;
    await until(() => appended.length > before + 50, 30_000);
    work.abort();
    await writing;
    await until(() => followed.at(-1) === appended.at(-1), 30_000);
    expect(appended.filter((value) => !followed.includes(value))).toEqual([]);
    expect(followed).toEqual([...new Set(followed)]);
    const there = await writer.list("tests/bucket", { prefix: "", limit: 100 });
    for (const [key, value] of confirmed)
      expect([key, there.find((each) => each.key === key)?.value]).toEqual([key, `1:"${value}"`]);
    const stored = new Map(
      there.map(({ key, value }) => [key, JSON.parse(value.slice(2)) as string]),
    );
    await until(() => [...stored].every(([key, value]) => seen.get(key) === value), 30_000);
  },
);

it(
  "a server that is gone or hangs fails every call within 5 s, and works when it is back",
  { timeout: 90_000 },
  async () => {
    const server = await startServer();
    const driver = await driverOf(server.url, freshSchema());
    await driver.put("bucket", "key", "before");
    const calls = (): Promise<unknown>[] => [
      driver.get("bucket", "key"),
      driver.put("bucket", "key", "meanwhile"),
      driver.delete("bucket", "none"),
      driver.list("bucket", { prefix: "", limit: 1 }),
      driver.append("log", ["entry"]),
      driver.read("log", 0, 1),
      driver.trim("log", { maxEntries: 1 }),
      driver.publish("topic", "message"),
    ];
    const expectRejected = async (): Promise<void> => {
      const since = performance.now();
      const results = await Promise.allSettled(Array.from({ length: 5 }, calls).flat());
      expect(performance.now() - since).toBeLessThan(PATIENCE * 5_000);
      expect(results.filter(({ status }) => status === "fulfilled")).toEqual([]);
    };
    await server.kill();
    await expectRejected();
    await server.start();
    expect(await until(() => driver.get("bucket", "key").catch(() => undefined))).toBeDefined();
    server.freeze();
    try {
      await expectRejected();
    } finally {
      server.thaw();
    }
    expect(
      await until(() => driver.get("bucket", "key").catch(() => undefined), 20_000),
    ).toBeDefined();
  },
);

it("two gateways lose no update of one value", { timeout: 60_000 }, async () => {
  const server = await startServer();
  const schema = freshSchema();
  const drivers = await Promise.all([driverOf(server.url, schema), driverOf(server.url, schema)]);
  const revs: number[] = [];
  const count = async (driver: StoreDriver): Promise<void> => {
    for (let done = 0; done < 100;) {
      const there = await driver.get("bucket", "count");
      const next = `${Number(there?.value ?? 0) + 1}`;
      const rev = await driver.put("bucket", "count", next, { rev: there?.rev ?? 0 });
      if (rev === undefined) continue;
      revs[Number(next)] = rev;
      done++;
    }
  };
  await Promise.all([...drivers, ...drivers].map(count));
  expect((await drivers[0].get("bucket", "count"))?.value).toBe("400");
  const inOrder = revs.slice(1);
  expect(inOrder).toEqual(inOrder.toSorted((left, right) => left - right));
});

it(
  "a reader of a log that others write sees every entry once, in order, and never one before another that comes later",
  { timeout: 60_000 },
  async () => {
    const server = await startServer();
    const schema = freshSchema();
    const drivers = await Promise.all(
      Array.from({ length: 3 }, () => driverOf(server.url, schema)),
    );
    let isOver = false;
    const writing = Promise.all(
      drivers.map(async (driver, name) => {
        for (let step = 0; step < 200; step += 2)
          await driver.append("log", [`${name}:${step}`, `${name}:${step + 1}`]);
      }),
    ).finally(() => (isOver = true));
    const read: { readonly value: string; readonly seq: number }[] = [];
    for (let isLast = false; !isLast;) {
      isLast = isOver;
      read.push(...(await drivers[0]!.read("log", read.at(-1)?.seq ?? 0, 1_000)));
    }
    await writing;
    expect(read).toHaveLength(600);
    expect(await drivers[1]!.read("log", 0, 1_000)).toEqual(read);
  },
);

it(
  `what a gateway confirmed survives its ${KILLS} kill -9`,
  { timeout: 60_000 + KILLS * 5_000 },
  async () => {
    const server = await startServer();
    const schema = freshSchema();
    const driver = await driverOf(server.url, schema);
    let last = { step: 0, rev: 0, seq: 0 };
    for (let kill = 0; kill < KILLS; kill++) {
      const confirmed = await writeUntilKilled(
        [`${server.url}?application_name=writer`, schema, `${last.step}`],
        20 + (kill % 7) * 13,
      );
      expect(confirmed.rev).toBeGreaterThan(last.rev);
      expect(confirmed.seq).toBeGreaterThan(last.seq);
      await until(() => hasLeft(server.url));
      last = await check(driver, confirmed);
    }
  },
);

interface Confirmed {
  readonly step: number;
  readonly rev: number;
  readonly seq: number;
}

/** Kills the writer when it has confirmed so many steps. */
async function writeUntilKilled(args: readonly string[], steps: number): Promise<Confirmed> {
  const child = spawn(process.execPath, [WRITER, ...args], {
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

/** What a killed writer had sent is worked off when the server has left it, too. */
async function hasLeft(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      "SELECT 1 FROM pg_stat_activity WHERE application_name = 'writer'",
    );
    return rowCount === 0;
  } finally {
    await client.end();
  }
}

/** Everything that was confirmed is there, and at most the step after it. */
async function check(driver: StoreDriver, { step, rev, seq }: Confirmed): Promise<Confirmed> {
  const entries = await driver.read("steps", 0, 1_000_000);
  const values = entries.map(({ value }) => value);
  const written = values.length / 2;
  expect([step, step + 1]).toContain(written);
  expect(values).toEqual(
    Array.from({ length: written }, (_, index) => [`${index + 1}a`, `${index + 1}b`]).flat(),
  );
  expect(entries[step * 2 - 1]!.seq).toBe(seq);
  const stored = await driver.list("counts", { prefix: "", limit: 100 });
  expect([step, step + 1, step + 2]).toContain(
    Math.max(...stored.map(({ value }) => Number(value))),
  );
  const there = stored.find(({ value }) => Number(value) === step);
  expect(there?.rev ?? rev).toBe(rev);
  return { step: written, rev, seq };
}

function isDone(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
