import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pace } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PATIENCE } from "../fixtures/ci.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { main, workFolder } from "./build.ts";
import { descendantsOf, isAlive } from "../fixtures/processes.ts";
import { Speaker, type Era } from "./speaker.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));
const GRACE_MS = 5_000;
const RUNS = Number(process.env["SIGTERM_RUNS"] ?? 2);
/** Two gateways at a time: each waits for its slow calls most of the time. */
const LANES = 2;

let folder: string;
/** A gateway with a well-behaved server, and one whose server ignores the end of its input and SIGTERM. */
let polite: string;
let stubborn: string;

beforeAll(async () => {
  folder = await workFolder();
  polite = await writeConfig("polite", []);
  stubborn = await writeConfig("stubborn", ["--ignore-eof", "--ignore-term"]);
});

afterAll(() => rm(folder, { recursive: true }));

async function writeConfig(name: string, flags: readonly string[]): Promise<string> {
  const file = join(folder, `${name}.json`);
  const child = { command: process.execPath, args: [SERVER, ...flags] };
  const config = {
    listeners: { main: { port: 0 } },
    endpoints: { mcp: { naming: "server" } },
    log: { format: "json" },
    timeouts: { grace: `${GRACE_MS}ms` },
    servers: { child },
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

interface Running {
  readonly gateway: ChildProcess;
  readonly url: string;
  readonly exit: Promise<{ code: number | null; signal: string | null; at: number }>;
}

/** Starts `propylon start` and waits for the line that says where it serves. */
async function startProcess(config: string): Promise<Running> {
  const gateway = spawn(...mortal(process.execPath, [main, "start", config]), {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = once(gateway, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
    at: performance.now(),
  }));
  const lines = createInterface({ input: gateway.stdout });
  for await (const line of lines) {
    const { msg, endpoints } = JSON.parse(line) as { msg: string; endpoints?: { url: string }[] };
    if (msg !== "gateway ready") continue;
    gateway.stdout.resume();
    return { gateway, exit, url: endpoints![0]!.url };
  }
  throw new Error("the gateway ended before it was ready");
}

/** One call: when it was made, and how it ended. */
interface Outcome {
  readonly began: number;
  readonly end: "answered" | "refused" | "broken";
  readonly detail: string;
}

/** Calls until the gateway is gone. */
class Load {
  readonly outcomes: Outcome[] = [];
  begun = 0;
  #gone = false;
  readonly #workers: Promise<void>[];

  constructor(speaker: Speaker, workers: number) {
    this.#workers = Array.from({ length: workers }, (_, n) => this.#work(speaker, n));
  }

  async #work(speaker: Speaker, worker: number): Promise<void> {
    for (let n = 0; !this.#gone; n++) {
      this.outcomes.push(await this.#one(speaker, `${worker}-${n}`, worker % 2 === 0 ? 300 : 0));
      await pace(2);
    }
  }

  async #one(speaker: Speaker, text: string, ms: number): Promise<Outcome> {
    const began = performance.now();
    this.begun++;
    const params = {
      name: ms > 0 ? "child__delay" : "child__echo",
      arguments: ms > 0 ? { ms, text } : { text },
    };
    try {
      const { status, messages } = await speaker.request("tools/call", params);
      const detail = `${status} ${JSON.stringify(messages)}`;
      if (status === 200 && detail.includes(`"text":"${text}"`))
        return { began, end: "answered", detail };
      return {
        began,
        end: status === 503 && detail.includes("draining") ? "refused" : "broken",
        detail,
      };
    } catch (error) {
      return { began, end: "broken", detail: String(error) };
    }
  }

  async stop(): Promise<void> {
    this.#gone = true;
    await Promise.all(this.#workers);
  }
}

async function oneRun(era: Era): Promise<void> {
  const { gateway, url, exit } = await startProcess(polite);
  const speaker = await Speaker.open(url, era);
  const stream = await speaker.listen();
  const children = descendantsOf(gateway.pid!);
  expect(children.length).toBeGreaterThanOrEqual(1);
  const load = new Load(speaker, 8);
  const answered = async (count: number): Promise<void> =>
    await expect.poll(() => load.outcomes.length, { interval: 5 }).toBeGreaterThan(count);
  await answered(100);
  // Certain to be in flight at the signal, and long enough for others to be refused meanwhile.
  const slow = speaker.call("child__delay", { ms: 600, text: "slow" });
  // Whoever has the answer to a later call on a connection of the same process knows that the earlier ones were read.
  const written = performance.now();
  await answered(load.outcomes.length + 20);
  const signalled = performance.now();
  gateway.kill("SIGTERM");
  const { code, signal, at } = await exit;
  await load.stop();
  expect(await slow).toBe("slow");
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(at - signalled).toBeLessThan(GRACE_MS + 4_500);
  // Begun before the signal: an answer in any case, and the call's own answer when the gateway had surely read it.
  const before = load.outcomes.filter(({ began }) => began < signalled);
  expect(before.filter(({ end }) => end === "broken")).toEqual([]);
  expect(before.filter(({ began, end }) => began < written && end !== "answered")).toEqual([]);
  // Begun after it: a clean refusal, or a closed door once the last answer is out.
  const after = load.outcomes.filter(({ began }) => began >= signalled);
  expect(after.filter(({ end }) => end === "refused").length).toBeGreaterThan(0);
  expect(
    after.filter(
      ({ end, detail }) =>
        end === "broken" && !/ECONNREFUSED|ECONNRESET|SocketError|closed/.test(detail),
    ),
  ).toEqual([]);
  expect(stream.ended).toBe(true);
  await expect.poll(() => children.filter(isAlive)).toEqual([]);
  await speaker.close();
}

/** Makes a call that never ends, and returns once the server has it. */
async function hang(speaker: Speaker): Promise<{ outcome: Promise<string> }> {
  const outcome = speaker.request("tools/call", { name: "child__hang", arguments: {} }).then(
    ({ messages }) => JSON.stringify(messages),
    (error: unknown) => String(error),
  );
  let asked = 0;
  const others = async (): Promise<number> =>
    (JSON.parse(await speaker.call("child__facts")) as { calls: number }).calls - ++asked;
  await expect.poll(others).toBe(1);
  return { outcome };
}

describe("acceptance 9: SIGTERM under load", () => {
  it(
    `${RUNS} times: no call in flight is dropped, new ones get 503, exit 0 in time, no child left`,
    { timeout: PATIENCE * 300_000 },
    async () => {
      let next = 0;
      let done = 0;
      const lane = async (): Promise<void> => {
        while (next < RUNS) {
          await oneRun(next++ % 2 === 0 ? "legacy" : "modern");
          done++;
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      expect(done).toBe(RUNS);
    },
  );

  it(
    "a call that outlasts the grace period is cut off, and neither it nor a stubborn child delays the end",
    { timeout: PATIENCE * 30_000 },
    async () => {
      const { gateway, url, exit } = await startProcess(stubborn);
      const speaker = await Speaker.open(url, "modern");
      const children = descendantsOf(gateway.pid!);
      const { outcome } = await hang(speaker);
      const signalled = performance.now();
      gateway.kill("SIGTERM");
      const { code, at } = await exit;
      expect(code).toBe(0);
      expect(at - signalled).toBeGreaterThan(GRACE_MS - 100);
      // A child has 5 s to obey where it is not the gateway that ends.
      expect(at - signalled).toBeLessThan(GRACE_MS + 4_500);
      expect(await outcome).toMatch(/error|closed|reset/i);
      await expect.poll(() => children.filter(isAlive)).toEqual([]);
      await speaker.close();
    },
  );

  it("a second signal ends it at once", async () => {
    const { gateway, url, exit } = await startProcess(stubborn);
    const speaker = await Speaker.open(url, "legacy");
    const children = descendantsOf(gateway.pid!);
    const { outcome } = await hang(speaker);
    const probe = async (): Promise<number> =>
      (await speaker.pool.request({ path: "/readyz", method: "GET" })).statusCode;
    gateway.kill("SIGTERM");
    await expect.poll(probe, { interval: 5 }).toBe(503);
    const signalled = performance.now();
    gateway.kill("SIGINT");
    const { code, at } = await exit;
    expect(code).toBe(130);
    expect(at - signalled).toBeLessThan(GRACE_MS / 2);
    expect(await outcome).toMatch(/closed|reset/i);
    await expect.poll(() => children.filter(isAlive)).toEqual([]);
    await speaker.close();
  });
});
