import { PATIENCE } from "../../fixtures/ci.ts";
import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../kit/until.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { GatewayProcess, usePlace } from "../../e2e/gateway-process.ts";

const place = usePlace();
const COUNTER = fileURLToPath(new URL("../../fixtures/upstreams/counter.mjs", import.meta.url));
const TIMEOUT = PATIENCE * 120_000;
const SESSIONS = Number(process.env["WORKER_SESSIONS"] ?? 5);

/** A plugin with a route and a tool that tell where they ran; a worker whose number is `bad` cannot take it. */
const PLUGIN = `
import { definePlugin } from "propylon";
import { z } from "zod";
export default definePlugin({
  name: "pid",
  config: z.strictObject({ bad: z.number().optional(), word: z.string().default("one") }),
  setup(gateway) {
    const { bad, word } = gateway.config;
    if (process.env.PROPYLON_WORKER === String(bad)) throw new Error("this worker cannot");
    const begun = new TextEncoder().encode("begun");
    const endless = () => new ReadableStream({ start: (stream) => stream.enqueue(begun) });
    gateway.route("GET", "/endless", { access: "public", mutates: false }, () => new Response(endless()));
    gateway.route("GET", "/pid", { access: "public", mutates: false }, () => ({ pid: process.pid, word }));
    gateway.tool("pid", {
      description: "Where it runs.",
      input: z.strictObject({ ms: z.number().default(0) }),
      run: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(String(process.pid)), ms)),
    });
  },
});
`;

interface Unanswered {
  readonly id: unknown;
  readonly error: { readonly data: { readonly code: string } };
}

interface Told {
  readonly pid: number;
  readonly word: string;
}

async function createWorkers(more: object = {}, pid: object = {}): Promise<GatewayProcess> {
  await writeFile(join(place.folder, "pid.mjs"), PLUGIN);
  return GatewayProcess.create(place, (port) => configOf(port, more, pid));
}

const configOf = (port: number, more: object, pid: object): object => ({
  listeners: { main: { port } },
  workers: 2,
  log: { level: "info", format: "json" },
  plugins: { "./pid.mjs": pid, metrics: { public: true, cacheTtl: 0 } },
  ...more,
});

async function begin(more?: object, pid?: object): Promise<GatewayProcess> {
  const gateway = await createWorkers(more, pid);
  gateway.start();
  await gateway.line("gateway ready");
  return gateway;
}

/** Over a connection of its own, so that any worker may answer. */
const ask = (
  url: string,
  { headers, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Response> => fetch(url, { ...init, headers: { ...headers, connection: "close" } });

const tell = async ({ url }: GatewayProcess): Promise<Told> =>
  (await ask(`${url}/pid`)).json() as Promise<Told>;

/** Those that answer, once `count` have. */
async function pidsOf(gateway: GatewayProcess, count = 2): Promise<number[]> {
  const seen = new Set<number>();
  return until(async () => {
    const told = await Promise.all(Array.from({ length: 8 }, () => tell(gateway)));
    for (const { pid } of told) seen.add(pid);
    return seen.size >= count && [...seen];
  }, 30_000);
}

/** One line of the log for each, and nothing else: lines of two processes do not mix. */
const linesOf = (gateway: GatewayProcess): Record<string, unknown>[] =>
  gateway.lines.map((line) => JSON.parse(line) as Record<string, unknown>);

async function openSession(url: string): Promise<Record<string, string>> {
  const response = await post(url, {}, 0, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "c", version: "1" },
  });
  const headers = { "mcp-session-id": response.headers.get("mcp-session-id")! };
  await response.text();
  return headers;
}

const post = (
  url: string,
  headers: Record<string, string>,
  id: number,
  method: string,
  params: object,
): Promise<Response> =>
  ask(`${url}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });

it(
  "two workers serve one listener and the same sessions, and log and count as one",
  { timeout: TIMEOUT },
  async () => {
    const gateway = await begin();
    expect(await pidsOf(gateway)).toHaveLength(2);
    expect((await ask(`${gateway.url}/readyz`)).status).toBe(200);
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => openSession(gateway.url)),
    );
    const ran = new Set<string>();
    for (const headers of sessions)
      for (let call = 1; call <= 10; call++) {
        const params = { name: "pid", arguments: {} };
        const response = await post(gateway.url, headers, call, "tools/call", params);
        expect(response.status).toBe(200);
        ran.add(/"text":"(\d+)"/.exec(await response.text())![1]!);
      }
    expect(ran.size).toBe(2);
    const page = await (await ask(`${gateway.url}/metrics`)).text();
    expect(page).toMatch(
      new RegExp(String.raw`^tool_calls_total\{[^}]*tool="pid"[^}]*\} ${SESSIONS * 10}$`, "m"),
    );
    expect(page).toContain("\nconfig_generation 1\n");
    expect(page).toContain('\nworkers{state="ready"} 2\n');
    const ready = linesOf(gateway).filter(({ msg }) => msg === "gateway ready");
    expect(ready).toMatchObject([{ workers: 2 }]);
    // Of the first worker and of the second.
    const calls = await until(() => {
      const found = linesOf(gateway).filter(({ tool, name }) => tool === "pid" || name === "pid");
      return found.length >= SESSIONS * 10 && found;
    });
    expect(new Set(calls.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
  },
);

it(
  "one that is killed is started again: sessions go on, and no counter falls",
  { timeout: TIMEOUT },
  async () => {
    const gateway = await begin();
    const headers = await openSession(gateway.url);
    const call = async (id: number): Promise<number> => {
      const params = { name: "pid", arguments: {} };
      return (await post(gateway.url, headers, id, "tools/call", params)).status;
    };
    for (let id = 1; id <= 20; id++) expect(await call(id)).toBe(200);
    const countOf = async (): Promise<number> => {
      const page = await (await ask(`${gateway.url}/metrics`)).text();
      return Number(/^tool_calls_total\{[^}]*tool="pid"[^}]*\} (\d+)$/m.exec(page)![1]);
    };
    expect(await countOf()).toBe(20);
    const [first] = await pidsOf(gateway);
    process.kill(first!, "SIGKILL");
    await gateway.line("a worker serves again");
    const after = await pidsOf(gateway);
    expect(after).not.toContain(first);
    for (let id = 21; id <= 40; id++) expect(await call(id)).toBe(200);
    expect(await countOf()).toBe(40);
    expect(
      linesOf(gateway).filter(({ msg }) => String(msg).startsWith("a worker ended")),
    ).toMatchObject([{ pid: first, signal: "SIGKILL" }]);
  },
);

/** What comes back on a connection, until that is closed. */
class Wire {
  text = "";
  readonly closed: Promise<unknown>;
  readonly #host: string;
  readonly #socket: Socket;

  constructor(url: string, request: string) {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname).setEncoding("utf8");
    onTestFinished(() => void socket.destroy());
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("data", (text: string) => (this.text += text)).on("error", () => {});
    this.#host = host;
    this.#socket = socket;
    this.send(request);
  }

  send(request: string): void {
    this.#socket.write(request.replace("\r\n", `\r\nhost: ${this.#host}\r\n`));
  }

  /** Closes, as a client does that was told to. */
  end(): void {
    this.#socket.end();
  }

  /** How many answers of a status came, and came whole. */
  count(status: number): number {
    const answers = this.text.split(/(?=HTTP\/1\.1 \d)/);
    return answers.filter((text) => text.startsWith(`HTTP/1.1 ${status} `) && isWhole(text)).length;
  }
}

function isWhole(answer: string): boolean {
  const [head, body] = answer.split("\r\n\r\n");
  return body?.length === Number(/content-length: (\d+)/i.exec(head!)?.[1]);
}

it(
  "what waits at one that is killed gets a code, and nothing is written into an answer that has begun",
  { timeout: TIMEOUT },
  async () => {
    const gateway = await begin();
    const headers = await openSession(gateway.url);
    const params = { name: "pid", arguments: { ms: 600_000 } };
    const call = (id: number): string => {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
      return `POST /mcp HTTP/1.1\r\nmcp-session-id: ${headers["mcp-session-id"]}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    };
    const get = (path: string) => (): string => `GET ${path} HTTP/1.1\r\n\r\n`;
    const wires = (request: (id: number) => string): Wire[] =>
      [1, 2, 3, 4].map((id) => new Wire(gateway.url, request(id)));
    const [waiting, begun] = [wires(call), wires(get("/endless"))];
    const [idle, unread] = [wires(get("/pid")), wires(get("/pid"))];
    const all = [...waiting, ...begun, ...idle, ...unread];
    await until(async () => {
      const page = await (await ask(`${gateway.url}/metrics`)).text();
      return page.includes("\ntool_calls_in_flight 4\n");
    });
    await until(() => begun.every(({ text }) => text.includes("begun")));
    await until(() => [...idle, ...unread].every((wire) => wire.count(200) === 1));
    const pids = await pidsOf(gateway);
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    for (const wire of unread) wire.send(get("/pid")());
    for (const pid of pids) process.kill(pid, "SIGKILL");
    const answered = [...waiting, ...idle, ...unread];
    await until(() => answered.every((wire) => wire.count(503) === 1));
    for (const wire of [...waiting, ...unread]) wire.end();
    // Those that waited for nothing did not see it.
    for (const wire of idle) wire.send(get("/pid")());
    await Promise.all(all.map(({ closed }) => closed));
    expect(answered.map((wire) => wire.count(503))).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1]);
    for (const { text } of waiting) {
      expect(text).toMatch(/^HTTP\/1\.1 503 .*\r\nConnection: close\r\n/);
      expect(text).toContain("\r\nretry-after: 1\r\n");
      const { id, error } = JSON.parse(text.slice(text.indexOf("\r\n\r\n"))) as Unanswered;
      expect([id, error.data.code]).toEqual([null, "unavailable"]);
    }
    for (const { text } of begun) expect(text).toMatch(/^HTTP\/1\.1 200 [^]*begun\r\n$/);
    const taken = linesOf(gateway).filter(({ msg }) => String(msg).includes("taken over"));
    const sumOf = (name: string): number =>
      taken.reduce((sum, line) => sum + Number(line[name]), 0);
    // And connections that asked above for numbers: the primary may not know yet that they were answered, or closed.
    expect(sumOf("interrupted")).toBeGreaterThanOrEqual(begun.length);
    expect(sumOf("answered")).toBeGreaterThanOrEqual(answered.length);
  },
);

it("one that is stuck is killed and started again", { timeout: TIMEOUT }, async () => {
  const gateway = await begin();
  const [first] = await pidsOf(gateway);
  process.kill(first!, "SIGSTOP");
  await gateway.line("a worker does not answer any more");
  await gateway.line("a worker serves again");
  expect(isAlive(first!)).toBe(false);
  expect(await pidsOf(gateway)).not.toContain(first);
});

it("SIGTERM ends all of them, after the calls in flight", { timeout: TIMEOUT }, async () => {
  const gateway = await begin();
  const pids = await pidsOf(gateway);
  const headers = await openSession(gateway.url);
  const params = { name: "pid", arguments: { ms: 1_500 } };
  const calls = Array.from({ length: 8 }, (_, id) =>
    post(gateway.url, headers, id + 1, "tools/call", params),
  );
  await until(async () => {
    const page = await (await ask(`${gateway.url}/metrics`)).text();
    return page.includes("\ntool_calls_in_flight 8\n");
  });
  const ended = gateway.kill("SIGTERM");
  const answers = await Promise.all(calls);
  for (const answer of answers) expect(await answer.text()).toMatch(/"text":"\d+"/);
  expect(await ended).toBe(0);
  expect(pids.filter(isAlive)).toEqual([]);
});

it("no worker outlives a primary that is killed", { timeout: TIMEOUT }, async () => {
  const gateway = await begin();
  const pids = await pidsOf(gateway);
  await gateway.kill();
  await until(() => pids.every((pid) => !isAlive(pid)));
  expect(pids).toHaveLength(2);
});

it("what is wrong is told once, and nothing is left running", { timeout: TIMEOUT }, async () => {
  const gateway = await createWorkers();
  const taken = createServer().listen(Number(new URL(gateway.url).port), "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  gateway.start();
  expect(await gateway.death()).toBe(1);
  expect(gateway.lines).toEqual([expect.stringMatching(/port \d+ on 127.0.0.1 is already in use/)]);
  const uneven = await createWorkers({}, { bad: 2 });
  uneven.start();
  expect(await uneven.death()).toBe(1);
  expect(uneven.lines).toHaveLength(1);
  expect(uneven.lines[0]).toContain("this worker cannot");
});

it("a state file is refused, because it belongs to one process", { timeout: TIMEOUT }, async () => {
  const gateway = await createWorkers({ plugins: { gating: {} } });
  gateway.start();
  expect(await gateway.death()).toBe(1);
  expect(gateway.lines).toHaveLength(1);
  expect(gateway.lines[0]).toMatch(/gateway-\d+\.json:1:\d+ .*store: sqlite:/);
});

it(
  "an edit by the API is one of all workers or of none, and in the file",
  { timeout: TIMEOUT },
  async () => {
    const plugins = {
      "./pid.mjs": {},
      gating: { state: false },
      admin: { allowConfigEdits: true },
    };
    const gateway = await begin({ plugins, management: { mutations: true } });
    await pidsOf(gateway);
    const file = join(place.folder, `gateway-${new URL(gateway.url).port}.json`);
    const put = (value: object, version: string): Promise<Response> =>
      ask(`${gateway.url}/_meta/config`, {
        method: "PUT",
        headers: { "content-type": "application/json", "if-match": `"${version}"` },
        body: JSON.stringify({ edits: [{ path: ["plugins", "./pid.mjs"], value }] }),
      });
    const words = async (): Promise<string[]> => {
      const told = await Promise.all(Array.from({ length: 24 }, () => tell(gateway)));
      return [...new Set(told.map(({ word }) => word))];
    };
    const before = await readFile(file, "utf8");
    const origin = await ask(`${gateway.url}/_meta/config/origin`);
    let { version } = (await origin.json()) as { readonly version: string };
    const bad = await put({ word: "two", bad: 2 }, version);
    expect([bad.status, await bad.text()]).toEqual([
      500,
      expect.stringContaining("this worker cannot"),
    ]);
    expect(await words()).toEqual(["one"]);
    expect(await readFile(file, "utf8")).toBe(before);
    // The version that one worker tells is that of the next edit at any of them.
    for (const word of ["two", "three", "four", "five"]) {
      const answer = await put({ word }, version);
      const body = (await answer.json()) as { readonly version: string };
      expect([answer.status, body]).toEqual([200, expect.objectContaining({ ok: true })]);
      ({ version } = body);
      expect(await words()).toEqual([word]);
      expect(await readFile(file, "utf8")).toContain(`"${word}"`);
    }
    expect((await put({ word: "six" }, "1-older")).status).toBe(409);
  },
);

it("a reload is one of all workers or of none", { timeout: TIMEOUT }, async () => {
  const gateway = await begin({ store: "sqlite:./workers.db" });
  await pidsOf(gateway);
  const port = Number(new URL(gateway.url).port);
  const file = join(place.folder, `gateway-${port}.json`);
  const before = await readFile(file, "utf8");
  const reload = async (pid: object, says: string): Promise<void> => {
    const config = configOf(port, { store: "sqlite:./workers.db" }, pid);
    await writeFile(file, JSON.stringify(config));
    const told = gateway.line(says);
    gateway.signal("SIGHUP");
    await told;
  };
  const words = async (): Promise<string[]> => {
    const told = await Promise.all(Array.from({ length: 40 }, () => tell(gateway)));
    return [...new Set(told.map(({ word }) => word))];
  };
  await reload({ word: "two", bad: 2 }, "was not applied");
  expect(await words()).toEqual(["one"]);
  await reload({ word: "two" }, "reloaded: plugin");
  expect(await words()).toEqual(["two"]);
  // One that is started again begins with what is in force, whatever the file says by then.
  await writeFile(file, before);
  const [first] = await pidsOf(gateway);
  process.kill(first!, "SIGKILL");
  await gateway.line("a worker serves again");
  await pidsOf(gateway);
  expect(await words()).toEqual(["two"]);
  const page = await (await ask(`${gateway.url}/metrics`)).text();
  expect(page).toContain("\nconfig_generation 2\n");
});

it(
  "a server with placement one is one process of all workers: after a reload that changes it, and when its worker dies",
  { timeout: TIMEOUT },
  async () => {
    const log = join(place.folder, "counter.log");
    const config = (more: object = {}): object => ({
      servers: {
        counter: { command: process.execPath, args: [COUNTER, log], placement: "one", ...more },
      },
    });
    const gateway = await begin(config());
    await pidsOf(gateway);
    const headers = await openSession(gateway.url);
    let id = 0;
    const count = async (): Promise<{ readonly count: number; readonly pid: number }> => {
      const params = { name: "count", arguments: {} };
      const text = await (await post(gateway.url, headers, ++id, "tools/call", params)).text();
      const [, said, pid] = /\\"count\\":(\d+),\\"pid\\":(\d+)/.exec(text) ?? [];
      return { count: Number(said), pid: Number(pid) };
    };
    /** The process that every worker calls, once it is another one than before. */
    const settle = async (before: number): Promise<number> => {
      const first = await until(async () => {
        const said = await count();
        return said.pid > 0 && said.pid !== before && said;
      }, 30_000);
      for (let each = 1; each <= 12; each++)
        expect(await count()).toEqual({ count: first.count + each, pid: first.pid });
      const started = (await readFile(log, "utf8")).matchAll(/^start (\d+) /gm);
      const isOne = (): boolean => [...pids].filter(isAlive).length === 1;
      const pids = [...started].map(([, pid]) => Number(pid));
      await until(isOne);
      return first.pid;
    };
    const first = await settle(0);
    const port = Number(new URL(gateway.url).port);
    await writeFile(
      join(place.folder, `gateway-${port}.json`),
      JSON.stringify(configOf(port, config({ ping: "7s" }), {})),
    );
    const reloaded = gateway.line("reloaded: ");
    gateway.signal("SIGHUP");
    await reloaded;
    const second = await settle(first);
    // The worker that runs it is its parent.
    const [, , , parent] = (await readFile(`/proc/${second}/stat`, "utf8")).split(" ");
    const isBack = gateway.line("a worker serves again");
    process.kill(Number(parent), "SIGKILL");
    await settle(second);
    await isBack;
  },
);

it(
  "SIGTERM gives the notice of all workers before any of them refuses, a second one ends it",
  { timeout: TIMEOUT },
  async () => {
    const gateway = await begin();
    // The primary follows the config in force, not that of its start.
    const port = Number(new URL(gateway.url).port);
    const config = configOf(port, { timeouts: { notice: "10m" } }, {});
    await writeFile(join(place.folder, `gateway-${port}.json`), JSON.stringify(config));
    const isApplied = gateway.line("reloaded: ");
    gateway.signal("SIGHUP");
    await isApplied;
    const readiness = async (): Promise<number> => (await ask(`${gateway.url}/readyz`)).status;
    const pids = await pidsOf(gateway);
    expect(await readiness()).toBe(200);
    gateway.signal("SIGTERM");
    await gateway.line("no longer ready");
    // Whichever worker answers.
    await until(async () => {
      const all = await Promise.all(Array.from({ length: 8 }, readiness));
      return all.every((status) => status === 503);
    }, 30_000);
    expect(await pidsOf(gateway)).toEqual(expect.arrayContaining(pids));
    // One that begins meanwhile says the same.
    const isBack = gateway.line("a worker serves again");
    process.kill(pids[0]!, "SIGKILL");
    await isBack;
    await until(async () => (await pidsOf(gateway)).some((pid) => !pids.includes(pid)), 30_000);
    const all = await Promise.all(Array.from({ length: 16 }, readiness));
    expect(new Set(all)).toEqual(new Set([503]));
    expect(await gateway.kill("SIGTERM")).toBe(0);
  },
);
