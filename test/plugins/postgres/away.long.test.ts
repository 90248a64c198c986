import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { StoreDriver } from "propylon/store";
import { expect, it } from "vitest";
import { testOutages } from "../../fixtures/store-outages.ts";
import { driverOf, freshSchema, openDriver, startServer, until } from "./kit.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

const WRITER = fileURLToPath(new URL("writer.mjs", import.meta.url));
const KILLS = Number(process.env["STORE_KILLS"] ?? 2);
const CRASHES = Number(process.env["STORE_CRASHES"] ?? 2);

const shared = freshSchema();
testOutages({
  signals: ["SIGQUIT", "SIGKILL"],
  crashes: CRASHES,
  start: startServer,
  open: (server) => openDriver(server.url, shared),
});

it(
  `what a gateway confirmed survives its ${KILLS} kill -9`,
  { timeout: PATIENCE * (60_000 + KILLS * 5_000) },
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
