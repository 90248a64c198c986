import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { main, workFolder } from "../../e2e/build.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { until, user } from "./kit.ts";

/** A runtime that writes what happens to it into a file, with a child of its own. */
const RUNTIME = `
import { appendFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
const tell = (what) => appendFileSync(process.env.HISTORY, what + "\\n");
const helper = spawn("sleep", ["60"]);
tell("started " + process.pid + " " + helper.pid);
tell("environment " + Object.values(process.env).filter((value) => value === "canary"));
const version = process.env.CONTRACT ?? "v1";
const server = createServer(async (req, res) => {
  let body = "";
  for await (const chunk of req) body += chunk;
  const send = (value, status = 200) => res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  if (req.url === "/health") return send({}, process.env.SICK ? 503 : 200);
  if (req.url === "/runtime-contract.json")
    return send({ contractVersion: version, runtime: { name: "r", version: "1" }, conformanceLevel: 1 });
  if (req.url !== "/") return send({}, 404);
  const { message } = JSON.parse(body);
  tell("began");
  if (message.parts[0].text === "crash") process.exit(3);
  setTimeout(() => {
    tell("ended");
    send({ id: message.taskId, status: { state: "completed" }, artifacts: [{ parts: [{ text: "done" }] }] });
  }, Number(message.parts[0].text));
});
server.listen(Number(process.env.A2A_PORT), "127.0.0.1");
process.on("SIGTERM", () => {
  tell("SIGTERM");
  process.exit(0);
});
`;

let folder = "";

beforeAll(async () => {
  folder = await workFolder();
  await writeFile(join(folder, "runtime.mjs"), RUNTIME);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly output: () => string;
  readonly history: () => Promise<string[]>;
}

let count = 0;

async function run(env: Record<string, string> = {}, flags: string[] = []): Promise<Running> {
  const [port, runtimePort] = [await freePort(), await freePort()];
  const file = join(folder, `history-${++count}`);
  const child = spawn(
    process.execPath,
    [
      main,
      "sidecar",
      "--port",
      String(port),
      ...flags,
      ...["HISTORY", ...Object.keys(env)].flatMap((name) => ["--env", name]),
      "--",
      process.execPath,
      join(folder, "runtime.mjs"),
    ],
    {
      env: {
        PATH: process.env["PATH"],
        AGENT_NAME: "coder",
        A2A_PORT: String(runtimePort),
        HISTORY: file,
        NATS_PASSWORD: "canary",
        PROPYLON_SECRET: "canary",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => (output += chunk));
  const history = async (): Promise<string[]> =>
    (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);
  return { child, url: `http://127.0.0.1:${port}`, output: () => output, history };
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/sidecar/ready`).then(
    ({ ok }) => ok,
    () => false,
  );

async function submit(url: string, text: string, taskId: string): Promise<void> {
  const response = await fetch(`${url}/sidecar/tasks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(user(text, { taskId })),
  });
  expect([response.status, await response.json()]).toEqual([202, { id: taskId }]);
}

async function exitOf({ child }: Running): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

describe("propylon sidecar", () => {
  it("R005, R011, R054: ends the running task, then SIGTERMs the runtime, exits with 0 and leaves nothing", async () => {
    const running = await run();
    await until(() => isReady(running.url), 15_000);
    await submit(running.url, "600", "t");
    await until(async () => (await running.history()).includes("began"));
    running.child.kill("SIGTERM");
    expect(await exitOf(running)).toBe(0);
    const [started, environment, ...rest] = await running.history();
    expect(rest).toEqual(["began", "ended", "SIGTERM"]);
    expect(environment).toBe("environment ");
    for (const pid of started!.split(" ").slice(1).map(Number)) await until(() => !isAlive(pid));
    expect(running.output()).not.toContain("canary");
  });

  it("starts the runtime again when it dies, and the task goes on to its end", async () => {
    const running = await run({}, ["--max-deliver", "2"]);
    await until(() => isReady(running.url), 15_000);
    await submit(running.url, "crash", "t");
    const response = await fetch(`${running.url}/sidecar/tasks/t?wait=15s`);
    const task = (await response.json()) as { status: { state: string }; metadata: object };
    expect(task).toMatchObject({
      status: { state: "failed" },
      metadata: { deadLetter: { reason: "unreachable", deliveries: 2 } },
    });
    const starts = (await running.history()).filter((line) => line.startsWith("started"));
    expect(starts.length).toBeGreaterThanOrEqual(2);
  });

  it("asks for the key that it was given, and logs from the level that it was given", async () => {
    const key = "a-key-of-the-sidecar";
    const running = await run({}, ["--api-key", key, "--log-level", "warn"]);
    await until(() => isReady(running.url), 15_000);
    const statusWith = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${running.url}/_meta/sidecar`, { headers })).status;
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${key}` })).toBe(200);
    expect(running.output()).not.toContain("sidecar listens");
    const other = await run();
    await until(() => other.output().includes("sidecar listens"), 15_000);
    expect(running.output()).not.toContain(key);
  });

  it("leaves nothing behind when it is killed itself", async () => {
    const running = await run();
    await until(() => isReady(running.url), 15_000);
    const [started] = await running.history();
    const pids = started!.split(" ").slice(1).map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    running.child.kill("SIGKILL");
    for (const pid of pids) await until(() => !isAlive(pid));
  });

  it("R038: exits with 2 when the runtime does not become healthy in time", async () => {
    const running = await run({ SICK: "1", STARTUP_TIMEOUT: "700ms" });
    expect(await exitOf(running)).toBe(2);
    expect(running.output()).toContain("did not become healthy within 0.7 s");
  });

  it("R089: exits with 1 when the runtime implements another contract", async () => {
    const running = await run({ CONTRACT: "v2" });
    expect(await exitOf(running)).toBe(1);
    expect(running.output()).toContain("The runtime implements contract v2.");
  });
});
