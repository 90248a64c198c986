import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { connectClient, freePort } from "../../../core/testing/index.ts";
import { mortal } from "../../fixtures/process/mortal.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";
import { MAIN, startPropylon } from "./propylon.ts";

const TOOL = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "p",
  setup(gateway) {
    gateway.tool("t", { description: "Answers.", run: () => "done" });
  },
});`;

it("R069: standard output has one JSON object per line, to the last call and the last word", async () => {
  const folder = makeFolder({
    "p.ts": TOOL,
    "gateway.yaml": "listeners: { main: { port: 0 } }\nplugins: { ./p.ts: {} }\n",
  });
  const { child, url, log } = await startPropylon(["start"], { cwd: folder });
  const stderr: string[] = [];
  child.stderr!.on("data", (chunk: Buffer) => stderr.push(String(chunk)));
  const client = await connectClient(url);
  const calls = 50;
  await Promise.all(Array.from({ length: calls }, () => client.callTool({ name: "t" })));
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await client.close();
  await closed;

  expect(log().endsWith("}\n")).toBe(true);
  const lines = log()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ action, tool }) => action === "tools/call" && tool === "t")).toHaveLength(
    calls,
  );
  for (const line of lines)
    expect(line).toMatchObject({ ts: expect.any(String), level: expect.any(String) });
  expect(lines.at(-1)).toMatchObject({ msg: "shutting down", signal: "SIGTERM" });
  expect(stderr.join("")).toBe("");
});

const TRICKLES = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "p",
  setup(gateway) {
    gateway.tool("trickle", {
      description: "Writes 5,000 lines, one in each turn of the loop.",
      async run() {
        const from = performance.now();
        for (let line = 0; line < 5_000; line++) {
          gateway.log.info("a line of a trickle");
          await new Promise((resolve) => setImmediate(resolve));
        }
        return String(performance.now() - from);
      },
    });
  },
});`;

it("writes lines that come one by one together: ten times a second, or 64 KB at a time", async () => {
  const folder = makeFolder({
    "p.ts": TRICKLES,
    "gateway.yaml": "listeners: { main: { port: 0 } }\nplugins: { ./p.ts: {} }\n",
  });
  const { child, url } = await startPropylon(["start"], { cwd: folder });
  const client = await connectClient(url);
  const seen: number[] = [];
  child.stdout!.on("data", ({ length }: Buffer) => seen.push(length));
  const { content } = await client.callTool({ name: "trickle" });
  const [{ text }] = content as [{ text: string }];
  await client.close();
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await closed;
  const bytes = seen.reduce((sum, length) => sum + length, 0);
  // A pipe may hand one write on in two parts.
  expect(seen.length).toBeLessThan(Number(text) / 100 + (2 * bytes) / 65_536 + 5);
});

const ENDS = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "p",
  setup(gateway) {
    gateway.tool("end", {
      description: "Ends the process while lines are still to be written.",
      run() {
        for (let line = 0; line < 4_000; line++) gateway.log.info("x".repeat(1_000));
        process.exit(3);
      },
    });
    gateway.tool("say", {
      description: "Writes lines of 1 kB.",
      input: { type: "object", properties: { lines: { type: "integer" } } },
      run({ lines }) {
        for (let line = 0; line < lines; line++) gateway.log.info({ isSaid: true }, "x".repeat(1_000));
        return "said";
      },
    });
  },
});`;

/** Starts a gateway whose log goes there. @returns ends it in the middle of its log, with its exit code */
async function startWith(stdout: "pipe" | number) {
  const folder = makeFolder({ "p.ts": ENDS });
  const port = await freePort();
  const config = { listeners: { main: { port } }, plugins: { "./p.ts": {} } };
  await writeFile(join(folder, "gateway.json"), JSON.stringify(config));
  const child: ChildProcess = spawn(...mortal(process.execPath, [MAIN, "start", "gateway.json"]), {
    cwd: folder,
    stdio: ["ignore", stdout, "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const client = await connectClient(`${url}/mcp`);
  const end = async (): Promise<number | null> => {
    const gone = once(child, "exit") as Promise<[number | null]>;
    client.callTool({ name: "end" }).catch(() => {});
    return (await gone)[0];
  };
  return { child, client, end };
}

it("a reader that stalled is told how many lines it has lost", async () => {
  const { child, client } = await startWith("pipe");
  const counts = { sent: 0, read: 0, lost: 0 };
  const say = async (lines: number): Promise<void> => {
    await client.callTool({ name: "say", arguments: { lines } });
    // The call has a line of its own.
    counts.sent += lines + 1;
  };
  await say(20_000);
  createInterface(child.stdout!).on("line", (text) => {
    const line = JSON.parse(text) as { isSaid?: boolean; tool?: string; lost?: number };
    if (line.isSaid === true || line.tool === "say") counts.read++;
    counts.lost = line.lost ?? counts.lost;
  });
  await until(async () => {
    await say(1);
    return counts.lost > 0;
  });
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await closed;
  expect(counts.lost).toBeGreaterThan(2_000);
  expect(counts.read + counts.lost).toBe(counts.sent);
});

it("a process ends although the reader of its log has gone", async () => {
  const { child, end } = await startWith("pipe");
  child.stdout!.destroy();
  expect(await end()).toBe(3);
});

it("a process ends although nobody reads its log", async () => {
  const { end } = await startWith("pipe");
  expect(await end()).toBe(3);
});

it("a process ends although the disk of its log is full", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const { end } = await startWith(full);
  expect(await end()).toBe(3);
});
