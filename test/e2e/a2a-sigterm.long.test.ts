import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as pace } from "node:timers/promises";
import { Agent, Client, fetch, Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Task } from "../../plugins/a2a/contract/index.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { eventsIn, messageOf } from "../plugins/a2a-contract/kit.ts";
import { isCi, PATIENCE } from "../fixtures/ci.ts";
import { startRuntimeProcess, writeConfig, type RuntimeProcess } from "./a2a-runtime.ts";
import { main, workFolder } from "./build.ts";

/** `npm run campaign -- a2a-sigterm` has the true numbers; every commit has small ones. */
const RUNS = Number(process.env["A2A_SIGTERM_RUNS"] ?? 1);
const IS_CAMPAIGN = RUNS > 10;
/** Long enough to be asked meanwhile on a machine with other work. */
const TASK_MS = IS_CAMPAIGN ? 2_000 : 1_500;
const GRACE_MS = 10_000;
const SHORT_GRACE_MS = IS_CAMPAIGN ? 1_000 : 300;
/** What may come on top of the grace period: the answers, and the log. Less than GRACE_MS, which a task is not to take. */
const ROOM_MS = IS_CAMPAIGN ? 2_500 : isCi ? 8_000 : 4_000;

const JSON_TYPE = { "content-type": "application/json" };

let folder: string;
let config: string;
const rows: string[] = [];

beforeAll(async () => {
  folder = await workFolder();
  config = await writeConfig(folder, 0);
});

afterAll(async () => {
  if (IS_CAMPAIGN) process.stdout.write(`${rows.join("\n")}\n`);
  await rm(folder, { recursive: true });
});

/** Starts a runtime that is killed with its test, should that fail. */
async function start(graceMs: number): Promise<RuntimeProcess> {
  const runtime = await startRuntimeProcess(main, config, {
    TERMINATION_GRACE_PERIOD: `${graceMs}ms`,
  });
  onTestFinished(() => void runtime.child.kill("SIGKILL"));
  return runtime;
}

/** One request on a connection of its own; resolves once the runtime works on it. */
async function begin(
  { url }: RuntimeProcess,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly answer: Promise<{ status: number; text: string; isLast: boolean }> }> {
  const client = new Client(url, { headersTimeout: 0, bodyTimeout: 0 });
  const taskId = `task ${Math.random()}`;
  const answer = client
    .request({
      method: "POST",
      path: "/",
      headers: { ...JSON_TYPE, ...headers },
      body: messageOf(text, { taskId }),
    })
    .then(async ({ statusCode, headers: { connection }, body }) => {
      const isLast = connection === "close";
      return { status: statusCode, text: await body.text(), isLast };
    })
    .finally(() => void client.close());
  answer.catch(() => {});
  await working(url, taskId);
  return { answer };
}

/** Waits until a task is at work, with a request of A2A 1.0. */
async function working(url: string, id: string): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id } });
  const headers = { ...JSON_TYPE, "a2a-version": "1.0" };
  await expect
    .poll(async () => (await fetch(url, { method: "POST", headers, body })).text(), {
      interval: 10,
    })
    .toMatch(/TASK_STATE_(?:WORKING|COMPLETED)/);
}

const stateOf = (text: string): string => (JSON.parse(text) as Task).status.state;
const wordsOf = (text: string): string | undefined =>
  (JSON.parse(text) as Task).status.message?.parts[0]?.text;

/** Signals the runtime, waits for its end, and writes it down. */
async function terminate(
  { child, exit }: RuntimeProcess,
  name: string,
): Promise<{ readonly code: number | null; readonly ms: number }> {
  const from = performance.now();
  child.kill("SIGTERM");
  const { code, at } = await exit;
  const ms = Math.round(at - from);
  rows.push(`${name}: ended after ${ms} ms, exit code ${code}`);
  return { code, ms };
}

/** Resolves once the runtime says that it shuts down. */
async function draining({ url }: RuntimeProcess): Promise<void> {
  // A connection that is kept would be closed under the next request.
  const init = { headers: { connection: "close" } };
  const status = async (): Promise<number> => (await fetch(`${url}/health`, init)).status;
  await expect.poll(status, { interval: 5 }).toBe(503);
}

describe("SIGTERM to a runtime", () => {
  it("R058, R068: an idle one ends at once with 0", async () => {
    const { code, ms } = await terminate(await start(GRACE_MS), "idle");
    expect(code).toBe(0);
    expect(ms).toBeLessThan(PATIENCE * 1_500);
  });

  it("R055, R056, R071: a task within the grace is finished and answered, and new ones get 503 meanwhile", async () => {
    const runtime = await start(GRACE_MS);
    const { answer } = await begin(runtime, `wait ${TASK_MS}`);
    const ended = terminate(runtime, `task of ${TASK_MS} ms, grace ${GRACE_MS} ms`);
    await draining(runtime);
    const refused = await fetch(runtime.url, {
      method: "POST",
      headers: JSON_TYPE,
      body: messageOf("hello"),
    });
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    const { status, text } = await answer;
    expect([status, stateOf(text)]).toEqual([200, "completed"]);
    const { code, ms } = await ended;
    expect(code).toBe(0);
    expect(ms).toBeLessThan(TASK_MS + ROOM_MS);
  });

  it("R058: one that is still starting ends at once with 0, also as process 1 that has no default for signals", async () => {
    const plugin = join(folder, "slow.mjs");
    await writeFile(
      plugin,
      'export default { name: "slow", setup() { console.error("starting"); return new Promise(() => {}); } };',
    );
    const file = join(folder, "slow.json");
    await writeFile(file, JSON.stringify({ plugins: { "./slow.mjs": {} } }));
    const child = spawn(...mortal(process.execPath, [main, "start", file]), {
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const exit = once(child, "exit");
    await once(child.stderr, "data");
    child.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
  });

  it.each([
    ["a task of 60 s", "wait 60000"],
    ["a handler that ignores its abort", "deaf"],
  ])(
    "R057, C43: %s is canceled when the grace is over, and its client is told",
    async (name, text) => {
      const runtime = await start(SHORT_GRACE_MS);
      const { answer } = await begin(runtime, text);
      const { code, ms } = await terminate(runtime, `${name}, grace ${SHORT_GRACE_MS} ms`);
      const told = await answer;
      expect([told.status, stateOf(told.text), wordsOf(told.text)]).toEqual([
        200,
        "failed",
        "canceled by shutdown",
      ]);
      expect(code).toBe(0);
      expect(ms).toBeGreaterThanOrEqual(SHORT_GRACE_MS - 20);
      expect(ms).toBeLessThan(SHORT_GRACE_MS + ROOM_MS);
    },
  );

  it("a second one ends it at once", async () => {
    const runtime = await start(GRACE_MS);
    const { answer } = await begin(runtime, "hang");
    const ended = terminate(runtime, "twice, with a task that hangs");
    await draining(runtime);
    runtime.child.kill("SIGTERM");
    const { code, ms } = await ended;
    expect(code).toBe(143);
    expect(ms).toBeLessThan(GRACE_MS / 2);
    await expect(answer).rejects.toThrow(/closed|reset/);
  });

  it("lets go of clients that keep their connection, and answers those that ask again on it with 503", async () => {
    const runtime = await start(GRACE_MS);
    const { port } = new URL(runtime.url);
    const idle = connect(Number(port), "127.0.0.1");
    const closed = new Promise<number>((resolve) =>
      idle.once("close", () => resolve(performance.now())),
    );
    idle.on("error", () => {});
    idle.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await new Promise((resolve) => void idle.once("data", resolve));
    const agent = new Agent({ connections: 1 });
    const hello = {
      method: "POST",
      headers: JSON_TYPE,
      body: messageOf("hello"),
      dispatcher: agent,
    };
    const before = await fetch(runtime.url, hello);
    expect([before.status, before.headers.get("connection")]).toEqual([200, "keep-alive"]);
    await before.text();
    const { answer } = await begin(runtime, `wait ${TASK_MS}`);
    const ended = terminate(runtime, "with an idle and a busy connection that are kept");
    await draining(runtime);
    const after = await fetch(runtime.url, hello);
    expect([after.status, after.headers.get("connection")]).toEqual([503, "close"]);
    expect(await answer).toMatchObject({ status: 200, isLast: true });
    const { code } = await ended;
    expect(code).toBe(0);
    expect(await closed).toBeLessThan((await runtime.exit).at + PATIENCE * 1_000);
    await agent.close();
  });

  it.each([
    ["completed", () => `wait ${TASK_MS}`, GRACE_MS],
    ["failed", () => "deaf", SHORT_GRACE_MS],
  ])("a client of events reads the last one: %s", async (state, text, grace) => {
    const runtime = await start(grace);
    const { answer } = await begin(runtime, text(), { accept: "text/event-stream" });
    const { code, ms } = await terminate(
      runtime,
      `client of events, task ${state}, grace ${grace} ms`,
    );
    const events = eventsIn((await answer).text);
    expect(events[0]).toHaveProperty("task");
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state } } });
    expect(code).toBe(0);
    expect(ms).toBeLessThan(Math.max(TASK_MS, SHORT_GRACE_MS) + ROOM_MS);
  });

  it("R069: everything it says on standard output is one JSON object a line", async () => {
    const runtime = await start(SHORT_GRACE_MS);
    await fetch(runtime.url, { method: "POST", headers: JSON_TYPE, body: messageOf("fail") });
    await terminate(runtime, "with its log read");
    const lines = runtime.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const messages = lines.map(({ msg }) => msg);
    expect(messages).toEqual(expect.arrayContaining(["gateway ready", "call", "shutting down"]));
    for (const line of lines)
      expect(line).toMatchObject({
        ts: expect.any(String) as string,
        level: expect.any(String) as string,
      });
  });
});

/** How one request of the load ended. */
interface Outcome {
  readonly began: number;
  readonly end: string;
}

/** Sends tasks from several clients until it is told to stop. */
class Load {
  readonly outcomes: Outcome[] = [];
  #isOver = false;
  readonly #pool: Pool;
  readonly #workers: Promise<void>[];

  constructor(url: string, workers: number) {
    this.#pool = new Pool(url, { connections: workers });
    this.#workers = Array.from({ length: workers }, (_, n) => this.#work(n));
  }

  async #work(worker: number): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const began = performance.now();
      const body = messageOf(`wait ${(worker * 17) % 60}`, { taskId: `${worker}-${n}` });
      this.outcomes.push({ began, end: await this.#send(body) });
      await pace(2);
    }
  }

  async #send(body: string): Promise<string> {
    try {
      const answer = await this.#pool.request({
        method: "POST",
        path: "/",
        headers: JSON_TYPE,
        body,
      });
      const text = await answer.body.text();
      return answer.statusCode === 200 ? stateOf(text) : String(answer.statusCode);
    } catch (error) {
      return `broken: ${String(error)}`;
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
    await this.#pool.close();
  }
}

describe("SIGTERM under load", () => {
  it(
    `R056: ${RUNS} times, no task in flight is dropped`,
    { timeout: PATIENCE * (20_000 + RUNS * 6_000) },
    async () => {
      const counts = { inFlight: 0, refused: 0, slowest: 0 };
      const dropped: string[] = [];
      for (let run = 0; run < RUNS; run++) {
        const runtime = await start(GRACE_MS);
        const load = new Load(runtime.url, 8);
        await expect.poll(() => load.outcomes.length, { interval: 5 }).toBeGreaterThan(60);
        const { answer } = await begin(runtime, "wait 600");
        const signalled = performance.now();
        runtime.child.kill("SIGTERM");
        expect(stateOf((await answer).text)).toBe("completed");
        const { code, at } = await runtime.exit;
        await load.stop();
        expect(code).toBe(0);
        const before = load.outcomes.filter(({ began }) => began < signalled);
        const late = before.filter(({ began }) => began > signalled - 100);
        counts.inFlight += late.length;
        // One that the runtime had not read yet when the signal came is refused in words, never cut off.
        dropped.push(
          ...before
            .filter(({ end }) => end !== "completed" && end !== "503")
            .map(({ began, end }) => `${Math.round(signalled - began)} ms before: ${end}`),
        );
        counts.refused += load.outcomes.filter(({ end }) => end === "503").length;
        counts.slowest = Math.max(counts.slowest, Math.round(at - signalled));
      }
      rows.push(
        `under load, ${RUNS} runs: ${counts.inFlight} tasks in flight at the signal, ${dropped.length} dropped, ${counts.refused} refused with 503 behind it; slowest end ${counts.slowest} ms; exit code 0 each time`,
      );
      expect(dropped).toEqual([]);
      expect(counts.refused).toBeGreaterThan(0);
    },
  );
});
