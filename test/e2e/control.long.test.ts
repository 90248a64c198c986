import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { replaceFile } from "../../core/kit/replace-file.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { mortal } from "../fixtures/process/mortal.mjs";
import { main, workFolder } from "./build.ts";
import { Speaker } from "./speaker.ts";

const SERVER = fileURLToPath(new URL("../fixtures/process/scripted-server.mjs", import.meta.url));

/** Management over HTTP in a few lines: what a request asks of the gateway is done, and the answer or the error comes back. */
const REMOTE = `
import { Management } from "propylon/kit";
export default {
  name: "remote",
  inject: { management: Management },
  setup(gateway) {
    const route = (path, work) =>
      gateway.route("POST", path, { access: "public", mutates: false }, async (event) => {
        try {
          return { ok: true, report: await work(event) };
        } catch ({ code, message, place, hint }) {
          return { ok: false, code, message, place, hint };
        }
      });
    route("/reload", () => gateway.services.management.reload());
    route("/plan", () => gateway.services.management.plan());
    route("/reconnect", async (event) => {
      const status = await gateway.services.management.reconnect((await event.req.json()).server);
      return { state: status.state, generation: gateway.info.generation };
    });
    route("/edit", async (event) => gateway.services.management.edit(await event.req.json()));
  },
};
`;

const FRAGILE = `
import { z } from "zod";
export default {
  name: "fragile",
  config: z.strictObject({ mood: z.string() }),
  setup(gateway) {
    if (gateway.config.mood === "bad") throw new Error("not today");
  },
};
`;

interface Told {
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly place?: { readonly file: string; readonly line?: number; readonly column?: number };
  readonly report?: {
    readonly generation: number;
    readonly applied: boolean;
    readonly servers: Record<"added" | "changed" | "removed" | "unchanged", readonly string[]>;
  };
}

let built: string;
beforeAll(async () => {
  built = await workFolder();
});
afterAll(() => rm(built, { recursive: true, force: true }));

/** A gateway in its own process, as an operator runs it. */
async function startGateway(config: string, words: readonly string[] = [], env: object = {}) {
  const folder = join(built, `run-${Math.random().toString(36).slice(2)}`);
  await mkdir(folder);
  const file = join(folder, "gateway.yaml");
  await writeFile(join(folder, "remote.mjs"), REMOTE);
  await writeFile(join(folder, "fragile.mjs"), FRAGILE);
  await writeFile(file, config);
  const child = spawn(...mortal(process.execPath, [main, "start", ...words]), {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(async () => {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  });
  const lines = linesOf(child);
  const until = async (isIt: (line: Record<string, unknown>) => boolean) => {
    const found = (): boolean => lines().some(isIt);
    await expect
      .poll(() => found() || child.exitCode !== null, { timeout: PATIENCE * 30_000, interval: 20 })
      .toBe(true);
    if (!found()) throw new Error(`the gateway ended: ${JSON.stringify(lines().slice(-3))}`);
    return lines().find(isIt)!;
  };
  const ready = await until(({ msg }) => msg === "gateway ready");
  const [{ url }] = ready["endpoints"] as [{ url: string }];
  const post = async (path: string, body?: unknown): Promise<Told> => {
    const answer = await fetch(new URL(path, url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body ?? {}),
    });
    return (await answer.json()) as Told;
  };
  return { file, child, url, post, lines, until };
}

function linesOf({ stdout, stderr }: ChildProcess): () => Record<string, unknown>[] {
  let text = "";
  for (const stream of [stdout!, stderr!])
    stream.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
  return () =>
    text
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const stdio = (name: string, ...more: string[]): string =>
  `  ${name}: { command: "${process.execPath}", args: ["${SERVER}", --name, ${name}${more.map((word) => `, ${word}`).join("")}] }\n`;

const HEAD = `# operator's notes
listeners: { main: { port: 0 } }   # any port
endpoints: { mcp: { naming: server } }
plugins:
  ./remote.mjs: {}
  ./fragile.mjs: { mood: good }
`;

it(
  "M040, M041, M099: a saved file adds A, changes B and removes C while D is called: same process, same session, no failed call",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const before = `${HEAD}servers:\n${stdio("b")}${stdio("c")}${stdio("d")}`;
    const gateway = await startGateway(before, ["--watch"]);
    const speaker = await Speaker.open(gateway.url, "legacy");
    const pidOf = async (server: string): Promise<number> =>
      (JSON.parse(await speaker.call(`${server}__facts`)) as { pid: number }).pid;
    const pids = { b: await pidOf("b"), d: await pidOf("d") };
    let calls = 0;
    let stopped = false;
    const failures: unknown[] = [];
    const traffic = Array.from({ length: 4 }, async () => {
      while (!stopped) {
        const said = await speaker.call("d__echo", { text: "x" }).catch((error: unknown) => error);
        if (said !== "x") failures.push(said);
        calls++;
      }
    });
    await expect.poll(() => calls).toBeGreaterThan(20);
    await replaceFile(
      gateway.file,
      `${HEAD}servers:\n${stdio("a")}${stdio("b", "--instructions", "new")}${stdio("d")}`,
    );
    const told = await gateway.until(({ msg }) => String(msg).startsWith("reloaded:"));
    expect(told).toMatchObject({
      generation: 2,
      servers: { added: ["a"], removed: ["c"], changed: ["b"] },
    });
    const after = calls + 20;
    await expect.poll(() => calls).toBeGreaterThan(after);
    stopped = true;
    await Promise.all(traffic);
    expect(failures).toEqual([]);
    expect(await pidOf("d")).toBe(pids.d);
    // The old one serves until the changed one is ready.
    await expect.poll(() => pidOf("b")).not.toBe(pids.b);
    expect(await speaker.call("a__echo", { text: "here" })).toBe("here");
    await expect(speaker.call("c__facts")).rejects.toThrow("c__facts");
    await speaker.close();
  },
);

it(
  "M102, M015: reload requests, edits and saved files at the same time are made one after another, and the last save stays",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const text = (round: number): string =>
      `# round ${round}\n${HEAD}timeouts: { default: ${round + 10}s }\n`;
    const gateway = await startGateway(text(0), ["--watch"]);
    const answers: Promise<Told>[] = [];
    for (let round = 1; round <= 15; round++) {
      await replaceFile(gateway.file, text(round));
      answers.push(gateway.post("/reload"), gateway.post("/reload"), gateway.post("/plan"));
      answers.push(gateway.post("/edit", [{ path: ["timeouts", "setup"], value: `${round}s` }]));
    }
    const told = await Promise.all(answers);
    await replaceFile(gateway.file, text(99));
    expect(await gateway.post("/reload")).toMatchObject({ ok: true });
    // An edit made for a file that was saved meanwhile is refused; nothing else may fail.
    expect(told.filter(({ ok, code }) => !ok && code !== "exists")).toEqual([]);
    expect(await readFile(gateway.file, "utf8")).toBe(text(99));
    expect(await gateway.post("/reload")).toMatchObject({ report: { applied: false } });
    const generations = gateway
      .lines()
      .filter(({ msg }) => String(msg).startsWith("reloaded:"))
      .map(({ generation }) => generation as number);
    const applied = [...new Set(generations)];
    expect(generations).toEqual(generations.toSorted((left, right) => left - right));
    expect(applied).toEqual(applied.map((_, index) => index + 2));
  },
);

it(
  "M014: a wrong file is told with file, line and column, and the old config serves; the next right one is taken",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const gateway = await startGateway(`${HEAD}servers:\n${stdio("d")}`, ["--watch"]);
    const speaker = await Speaker.open(gateway.url, "legacy");
    await replaceFile(gateway.file, `${HEAD}servers:\n  d: { command: 7 }\n`);
    const failure = await gateway.until(({ msg }) => /not applied/.test(String(msg)));
    expect(failure).toMatchObject({ place: { file: "gateway.yaml", line: 8, column: 17 } });
    expect(failure["msg"]).toContain("gateway.yaml:8:17");
    expect(await gateway.post("/reload")).toMatchObject({
      ok: false,
      code: "reload_failed",
      place: { line: 8, column: 17 },
    });
    expect(await speaker.call("d__echo", { text: "still" })).toBe("still");
    await replaceFile(gateway.file, `${HEAD}servers:\n${stdio("d")}${stdio("e")}`);
    await gateway.until(({ msg }) => msg === "reloaded: server e added");
    expect(await speaker.call("d__echo", { text: "same" })).toBe("same");
    await speaker.close();
  },
);

it(
  "M019, M086: an edit is written as a person would; one that cannot be activated leaves the file byte for byte",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const text = `${HEAD.replaceAll("\n", "\r\n")}servers: {} # none yet`;
    const gateway = await startGateway(text);
    const digest = async (): Promise<string> =>
      createHash("sha256")
        .update(await readFile(gateway.file))
        .digest("hex");
    const before = await digest();
    const failed = await gateway.post("/edit", [
      { path: ["plugins", "./fragile.mjs", "mood"], value: "bad" },
    ]);
    expect(failed).toMatchObject({
      ok: false,
      code: "reload_failed",
      message: expect.stringContaining("not today") as string,
    });
    expect(await digest()).toBe(before);
    const server = { command: process.execPath, args: [SERVER] };
    expect(await gateway.post("/edit", [{ path: ["servers", "a"], value: server }])).toMatchObject({
      ok: true,
      report: { applied: true, generation: 2, servers: { added: ["a"] } },
    });
    const speaker = await Speaker.open(gateway.url, "legacy");
    expect(await speaker.call("a__echo", { text: "hello" })).toBe("hello");
    await speaker.close();
    const edited = await readFile(gateway.file, "utf8");
    expect(edited.startsWith(HEAD.replaceAll("\n", "\r\n"))).toBe(true);
    expect(edited).toContain("# none yet");
    expect(await gateway.post("/reload")).toMatchObject({ report: { applied: false } });
  },
);

it(
  "M042: reconnecting a server makes it work anew without a restart of the gateway",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const gateway = await startGateway(`${HEAD}servers:\n${stdio("a")}${stdio("b")}`);
    const speaker = await Speaker.open(gateway.url, "legacy");
    const pids = async (): Promise<number[]> =>
      Promise.all(
        ["a", "b"].map(
          async (name) => (JSON.parse(await speaker.call(`${name}__facts`)) as { pid: number }).pid,
        ),
      );
    const before = await pids();
    expect(await gateway.post("/reconnect", { server: "a" })).toEqual({
      ok: true,
      report: { state: "ready", generation: 1 },
    });
    const after = await pids();
    expect([after[0] === before[0], after[1] === before[1]]).toEqual([false, true]);
    expect(await gateway.post("/reconnect", { server: "nobody" })).toMatchObject({
      code: "not_found",
    });
    await speaker.close();
  },
);

it(
  "M125, M126, M159: flags and variables do what they say and outlive a reload",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const more = `
export default {
  name: "more",
  setup(gateway) {
    gateway.route("POST", "/shown", { access: "public", mutates: false }, () => gateway.info.effectiveConfig());
    gateway.route("POST", "/change", { access: "public", mutates: true }, () => ({ changed: true }));
    gateway.route("GET", "/managed", { access: "public", mutates: false, management: true }, () => ({ managed: true }));
  },
};`;
    /** What the gateway says of itself, and the status of a change and of a management route, after a reload. */
    const start = async (words: readonly string[], env: object = {}) => {
      const config = `${HEAD}management: { readOnly: false }\n`;
      const gateway = await startGateway(config, words, env);
      await writeFile(join(gateway.file, "..", "more.mjs"), more);
      await writeFile(gateway.file, config.replace("plugins:\n", "plugins:\n  ./more.mjs: {}\n"));
      gateway.child.kill("SIGHUP");
      await gateway.until(({ msg }) => String(msg).startsWith("reloaded: plugin ./more.mjs added"));
      const { management } = (await gateway.post("/shown")) as unknown as { management: object };
      const change = await fetch(new URL("/change", gateway.url), { method: "POST" });
      const managed = await fetch(new URL("/managed", gateway.url));
      return { ...management, change: change.status, managed: managed.status };
    };
    expect(await start([])).toMatchObject({
      readOnly: false,
      mutations: false,
      change: 200,
      managed: 200,
    });
    expect(await start(["--read-only"])).toMatchObject({
      readOnly: true,
      change: 403,
      managed: 200,
    });
    expect(await start(["--allow-mutations", "--no-management"])).toMatchObject({
      mutations: true,
      enabled: false,
      managed: 404,
    });
    const words = { MCPO_READ_ONLY: "1", MCPQ_READ_ONLY: "true", GATEWAY_READ_ONLY: "YES" };
    for (const [name, word] of Object.entries(words))
      expect(await start([], { [name]: word })).toMatchObject({ readOnly: true, change: 403 });
  },
);
