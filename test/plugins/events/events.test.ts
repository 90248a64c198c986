import { describe, expect, it } from "vitest";
import {
  configSchema,
  createLogger,
  definePlugin,
  type Gateway,
  type GatewayConfigInput,
} from "propylon";
import { digestOf } from "propylon/kit";
import { setupGateway, testPlugin } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import breaker from "../../../plugins/breaker/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { readSocket, readSse, TRANSPORTS } from "./readers.ts";

testPlugin(events, { config: { maxEvents: 10 }, changed: { maxEvents: 20 } });

const SCRIPTED = new URL("../../fixtures/process/scripted-server.mjs", import.meta.url).pathname;
const scripted = (...flags: string[]) => ({
  command: process.execPath,
  args: [SCRIPTED, ...flags],
});

const base = (
  servers: GatewayConfigInput["servers"],
  plugins: Record<string, unknown> = {},
): GatewayConfigInput => ({
  listeners: { main: { port: 0 } },
  management: { mutations: true },
  timeouts: { drain: 1 },
  ...(servers && { servers }),
  plugins: { events: {}, ...plugins },
});

async function ready(gateway: Gateway, name: string): Promise<void> {
  await expect.poll(() => gateway.servers.get(name)?.status.state).toBe("ready");
}

describe.each(TRANSPORTS)("over %s", (_name, read) => {
  it("M074, M108: tells each change of servers, flags and tools once and in order", async () => {
    const plugins = { gating: {}, admin: {} };
    const { gateway, url } = await setupGateway({
      plugins: [events, gating, admin],
      config: base({ a: scripted(), b: scripted() }, plugins),
      client: false,
    });
    await ready(gateway, "a");
    await ready(gateway, "b");
    const reader = await read(url);
    const post = async (path: string): Promise<number> =>
      (await fetch(`${url}/_meta${path}`, { method: "POST" })).status;

    expect(await post("/servers/a/tools/echo/disable")).toBe(200);
    expect(await post("/servers/a/disable")).toBe(200);
    expect(await post("/servers/a/enable")).toBe(200);
    await gateway.call({ server: "a", name: "change", args: { name: "fresh" } });
    await reader.find("tool_list_changed");
    await gateway.apply(base({ a: scripted(), c: scripted() }, plugins));
    await ready(gateway, "c");
    await gateway.apply(base({ a: scripted(), c: scripted("--name", "other") }, plugins));
    await expect
      .poll(() => reader.kinds().filter((kind) => kind === "reload_done"))
      .toHaveLength(2);
    await ready(gateway, "c");
    await expect(gateway.apply(base({}, { events: { maxEvents: -1 } }))).rejects.toThrow(
      "maxEvents",
    );
    await reader.find("reload_failed");

    const told = reader.events.flatMap(({ event, data }) => {
      if (event === "mutation") return [`${data.action.replace(/.*_meta/, "")} ${data.status}`];
      if (event === "state_changed")
        return [`${data.server}/${data.tool ?? ""} ${data.enabled ? "on" : "off"}`];
      if (event.startsWith("server_")) return [`${event} ${"server" in data ? data.server : ""}`];
      return event === "reload_done" || event === "reload_failed" ? [event] : [];
    });
    expect(told).toEqual([
      "a/echo off",
      "/servers/:server/tools/:tool/disable 200",
      "a/ off",
      "/servers/:server/disable 200",
      "a/ on",
      "/servers/:server/enable 200",
      "server_removed b",
      "server_added c",
      "reload_done",
      "server_changed c",
      "reload_done",
      "reload_failed",
    ]);
    expect(await reader.find("reload_failed")).toMatchObject({
      data: { code: "invalid", message: expect.stringContaining("maxEvents") },
    });
    const lists = reader.events.filter(({ event }) => event === "tool_list_changed");
    expect(lists.map(({ data }) => data)).toContainEqual(
      expect.objectContaining({
        server: "a",
        tools: gateway.servers.get("a")!.catalogue.tools.length,
      }),
    );
    const ids = reader.events
      .filter(({ event }) => event !== "hello")
      .map(({ id }) => Number(id!.split("-")[1]));
    expect(ids).toEqual(ids.map((_, index) => ids[0]! + index));
    for (const { data } of reader.events) expect(new Date(data.at).toISOString()).toBe(data.at);
  });

  it("M108: tells the states of a server that fails and of its circuit, the reason to operators", async () => {
    const { gateway, url } = await setupGateway({
      plugins: [events, breaker],
      config: base({ a: scripted() }, { breaker: { failures: 1 } }),
      client: false,
    });
    await ready(gateway, "a");
    const reader = await read(url);
    await gateway.call({ server: "a", name: "crash" }).catch(() => {});
    const opened = await reader.find("breaker");
    expect(opened.data).toMatchObject({ server: "a", state: "open", retryAt: expect.any(String) });
    const state = await reader.find("upstream_state");
    expect(state.data).toMatchObject({ server: "a", transport: "stdio" });
    expect(state.data.reason).toEqual(expect.any(String));
  });

  it("loses nothing and repeats nothing when a reader comes back", async () => {
    const { gateway, url } = await setupGateway({
      plugins: [events],
      config: base({}),
      client: false,
    });
    const reload = (round: number): Promise<unknown> =>
      gateway.apply({ ...base({}), timeouts: { setup: 10 + round } });
    const first = await read(url);
    await reload(1);
    await first.find("reload_done");
    const lastEventId = first.events.at(-1)!.id!;
    first.close();
    await reload(2);
    await reload(3);
    const second = await read(url, { query: `lastEventId=${lastEventId}` });
    await reload(4);
    await expect.poll(() => second.kinds()).toHaveLength(3);
    const generations = [...first.events, ...second.events].flatMap(({ event, data }) =>
      event === "reload_done" ? [data.generation] : [],
    );
    expect(generations).toEqual([2, 3, 4, 5]);
    expect(second.events[0]).toMatchObject({ event: "hello", id: lastEventId });
  });

  it("says that something is missing: after a restart, beyond the ring, for ids of nobody", async () => {
    const options = { maxEvents: 2 };
    const { gateway, url } = await setupGateway({
      plugins: [[events, options]],
      config: base({}, { events: options }),
      client: false,
    });
    const { data: hello } = await (await read(url)).find("hello");
    for (const round of [1, 2, 3])
      await gateway.apply({ ...base({}, { events: options }), timeouts: { setup: 10 + round } });
    const gapAfter = async (id: string): Promise<unknown> =>
      (await (await read(url, { query: `lastEventId=${id}` })).find("gap")).data;
    expect(await gapAfter(hello.lastId)).toMatchObject({ reason: "expired", missed: 3 });
    expect(await gapAfter("0123456789ab-1")).toMatchObject({ reason: "restarted", missed: null });
    expect(await gapAfter(`${hello.instance}-99`)).toMatchObject({ reason: "unknown" });
    expect(await gapAfter("nonsense%0Adata:x")).toMatchObject({ reason: "unknown" });
    const kept = await read(url, { query: `lastEventId=${hello.instance}-1` });
    await expect.poll(() => kept.kinds()).toEqual(["reload_done", "reload_done"]);
  });

  it("shows the calls of tools to who asks, with the progress their caller asked for", async () => {
    const { gateway, url } = await setupGateway({
      plugins: [events],
      config: base({ a: scripted() }),
      client: false,
    });
    await ready(gateway, "a");
    const other = await read(url);
    const reader = await read(url, { query: "kinds=progress" });
    const seen: unknown[] = [];
    await gateway.call({
      server: "a",
      name: "progress",
      args: { count: 2, total: 2, message: "half" },
      progress: (report) => void seen.push(report),
    });
    await gateway.call({ server: "a", name: "tool-error" });
    await expect.poll(() => reader.kinds()).toHaveLength(6);
    const steps = reader.events.flatMap(({ event, data }) => (event === "progress" ? [data] : []));
    expect(steps.map(({ phase, tool }) => `${tool} ${phase}`)).toEqual([
      "progress start",
      "progress progress",
      "progress progress",
      "progress end",
      "tool-error start",
      "tool-error end",
    ]);
    expect(steps.at(-1)).toMatchObject({ outcome: { transport: "ok", tool: "error" } });
    expect(seen).toHaveLength(2);
    expect(reader.events.slice(1).every(({ id }) => id === undefined)).toBe(true);
    expect(other.kinds()).toEqual([]);
  });

  it("tells who asks how each call of a tool ended, and nobody else", async () => {
    const plugins = { gating: {}, admin: {} };
    const { gateway, url } = await setupGateway({
      plugins: [events, gating, admin],
      config: base({ a: scripted() }, plugins),
      client: false,
    });
    await ready(gateway, "a");
    const other = await read(url);
    const reader = await read(url, { query: "kinds=call_end" });
    const call = (name: string): Promise<unknown> => gateway.call({ server: "a", name });
    await call("tool-error");
    expect(
      (await fetch(`${url}/_meta/servers/a/tools/echo/disable`, { method: "POST" })).status,
    ).toBe(200);
    await expect(call("echo")).rejects.toThrow("off");
    await expect.poll(() => reader.kinds()).toEqual(["call_end", "call_end"]);
    const ends = reader.events.flatMap(({ event, data }) => (event === "call_end" ? [data] : []));
    expect(ends).toEqual([
      expect.objectContaining({ server: "a", tool: "tool-error", outcome: "tool_error" }),
      expect.objectContaining({ server: "a", tool: "echo", outcome: "refused" }),
    ]);
    expect(ends.every(({ ms, principal }) => ms >= 0 && /^\w+:./.test(principal))).toBe(true);
    expect(reader.events.slice(1).every(({ id }) => id === undefined)).toBe(true);
    expect(other.kinds()).not.toContain("call_end");
  });

  it("a reload of the plugin itself ends no stream and starts no new count", async () => {
    const { gateway, url } = await setupGateway({
      plugins: [events],
      config: base({}),
      client: false,
    });
    const reader = await read(url);
    await gateway.apply(base({}, { events: { maxEvents: 5 } }));
    await gateway.apply(base({}, { events: { maxEvents: 6 } }));
    await expect.poll(() => reader.kinds()).toEqual(["reload_done", "reload_done"]);
    expect(reader.ended).toBe(false);
    const late = await read(url);
    expect(late.events[0]!.data).toMatchObject({
      instance: (reader.events[0]!.data as { instance: string }).instance,
    });
  });

  it("ends streams when the gateway closes", async () => {
    const { gateway, url } = await setupGateway({
      plugins: [events],
      config: base({}),
      client: false,
    });
    const reader = await read(url);
    const started = performance.now();
    await gateway.close({ grace: 10_000 });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await reader.find("closing")).toMatchObject({ data: { reason: "shutdown" } });
    await expect.poll(() => reader.ended).toBe(true);
  });
});

it("hello shows the servers there are, so that nothing is missed between a list and a stream", async () => {
  const { gateway, url } = await setupGateway({
    plugins: [events],
    config: base({ a: scripted() }),
    client: false,
  });
  await ready(gateway, "a");
  const { data } = await (await readSse(url)).find("hello");
  expect(data.servers).toEqual([
    expect.objectContaining({
      name: "a",
      state: "ready",
      tools: gateway.servers.get("a")!.catalogue.tools.length,
    }),
  ]);
});

it("resumes by the header that an EventSource sends, which beats the URL it was made with", async () => {
  const { gateway, url } = await setupGateway({
    plugins: [events],
    config: base({}),
    client: false,
  });
  const { data: hello } = await (await readSse(url)).find("hello");
  await gateway.apply({ ...base({}), timeouts: { setup: 11 } });
  const reader = await readSse(url, {
    query: "lastEventId=old-1",
    headers: { "last-event-id": hello.lastId },
  });
  await expect.poll(() => reader.kinds()).toEqual(["reload_done"]);
});

it("a WebSocket message changes what is shown, and nonsense ends the connection with words", async () => {
  const { gateway, url } = await setupGateway({
    plugins: [events],
    config: base({}),
    client: false,
  });
  const reader = await readSocket(url, { query: "kinds=mutation" });
  const lastEventId = reader.events[0]!.id;
  await gateway.apply({ ...base({}), timeouts: { setup: 11 } });
  reader.socket.send(JSON.stringify({ type: "subscribe", kinds: ["reload_done"], lastEventId }));
  await reader.find("reload_done");
  expect(reader.events.map(({ event }) => event)).toEqual(["hello", "hello", "reload_done"]);
  const closed = new Promise((resolve) =>
    reader.socket.on("close", (code, reason) => resolve([code, reason.toString()])),
  );
  reader.socket.send(JSON.stringify({ kinds: ["everything"] }));
  expect(await closed).toEqual([1008, expect.stringContaining("kinds")]);
});

it("ends streams when the plugin leaves the config", async () => {
  const { gateway, url } = await setupGateway({
    plugins: [events],
    config: base({}),
    client: false,
  });
  const [sse, socket] = [await readSse(url), await readSocket(url)];
  await gateway.apply({ ...base({}), plugins: { events: false } });
  expect(await sse.find("closing")).toMatchObject({ data: { reason: "removed" } });
  await expect.poll(() => sse.ended && socket.ended).toBe(true);
});

it("M132: shows log lines live to operators, from the level asked for, redacted, and nothing loops", async () => {
  const lines: string[] = [];
  const log = await createLogger(configSchema.parse({}).log, {
    write: (line) => void lines.push(line),
  });
  const noisy = definePlugin({
    name: "noisy",
    setup(gateway) {
      const fail = async (): Promise<never> => {
        gateway.log.info("a line about a line");
        await Promise.resolve();
        throw new Error("a listener that fails later");
      };
      gateway.hook("log:line", fail as () => void);
      gateway.route("GET", "/noise", { access: "public", mutates: false }, () => {
        gateway.log.info({ password: "canary" }, "info");
        gateway.log.warn({ password: "canary" }, "warn");
        return "";
      });
    },
  });
  const { url } = await setupGateway({
    plugins: [events, noisy],
    config: base({}, { noisy: {} }),
    log,
    client: false,
  });
  const severe = await readSse(url, { query: "kinds=log&level=warn" });
  const all = await readSocket(url, { query: "kinds=log" });
  const other = await readSse(url);
  await fetch(`${url}/noise`);
  expect((await severe.find("log")).data.line).toMatchObject({
    msg: "warn",
    password: "[redacted]",
  });
  await expect.poll(() => all.kinds()).toHaveLength(2);
  const written = lines.length;
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(lines).toHaveLength(written);
  expect(severe.kinds()).toEqual(["log"]);
  expect(other.kinds()).toEqual([]);
  expect(JSON.stringify([...severe.events, ...all.events])).not.toContain("canary");
});

interface LogAnswer {
  readonly lines: { readonly replica?: string; readonly line: Record<string, unknown> }[];
  readonly missing: readonly string[];
}

/** A gateway that writes to its log what it is told to. */
async function startWriter(more: { config?: GatewayConfigInput; kept?: KeptStore } = {}) {
  const log = await createLogger(configSchema.parse({ log: { level: "trace" } }).log, {
    write: () => {},
  });
  let write!: (level: "debug" | "info" | "error", facts: object, message: string) => void;
  const writer = definePlugin({
    name: "writer",
    setup(gateway) {
      write = (level, facts, message) => gateway.log[level](facts, message);
    },
  });
  const { url } = await setupGateway({
    plugins: [events, writer, ...(more.kept ? [more.kept.plugin] : [])],
    config: { ...base({}, { writer: {} }), ...more.config, ...(more.kept && { store: "kept" }) },
    log,
    client: false,
  });
  const read = async (query = "", key = ""): Promise<LogAnswer & { status: number }> => {
    const headers = key === "" ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/_meta/logs${query}`, { headers });
    return { status: response.status, ...((await response.json()) as LogAnswer) };
  };
  return { read, write };
}

it("43: tells who comes later the last lines of the log, redacted, from the level asked for", async () => {
  const { read, write } = await startWriter();
  write("debug", { password: "canary" }, "quiet");
  for (let line = 0; line < 600; line++) write("info", { line }, "counted");
  write("error", { password: "canary", server: "shop" }, "before anybody looked");
  const { lines } = await read();
  expect(lines).toHaveLength(500);
  expect(lines.at(-1)!.line).toMatchObject({
    level: "error",
    msg: "before anybody looked",
    server: "shop",
    password: "[redacted]",
  });
  expect(lines[0]!.line).toMatchObject({ line: 101 });
  const severe = await read("?level=error&limit=1000");
  expect(severe.lines.map(({ line }) => line["msg"])).toEqual(["before anybody looked"]);
  const all = await read("?level=trace&limit=1000");
  expect(all.lines.map(({ line }) => line["msg"])).toContain("quiet");
  expect(JSON.stringify(all.lines)).not.toContain("canary");
  for (const wrong of ["?limit=0", "?limit=1001", "?level=loud", "?x=1"])
    expect((await read(wrong)).status).toBe(422);
});

it("43: keeps a bounded number of bytes of the log, and cuts a line that is too long", async () => {
  const { read, write } = await startWriter();
  write("error", {}, `the first ${"x".repeat(200_000)}`);
  const long = await read("?level=error");
  const [first] = long.lines;
  expect(first!.line).toMatchObject({ level: "error", ts: expect.any(String) });
  expect(String(first!.line["msg"])).toHaveLength(65_536);
  for (let line = 0; line < 100; line++) write("info", { line }, "y".repeat(20_000));
  const { lines } = await read("?level=trace&limit=1000");
  expect(lines.at(-1)!.line).toMatchObject({ line: 99 });
  expect(JSON.stringify(lines).length).toBeLessThan(1_048_576);
  expect((await read("?level=error")).lines).toEqual([]);
});

it("43: log lines are for operators", async () => {
  const hash = (key: string): string => `sha256:${digestOf(key)}`;
  const keys = {
    see: { role: "viewer", hash: hash("see") },
    run: { role: "operator", hash: hash("run") },
  } as const;
  const { read, write } = await startWriter({ config: { auth: { keys } } });
  write("info", {}, "said");
  expect((await read()).status).toBe(401);
  expect((await read("", "see")).status).toBe(403);
  expect((await read("", "run")).lines.at(-1)!.line).toMatchObject({ msg: "said" });
});

it("43: every replica of a store tells the lines of all", async () => {
  const kept = new KeptStore({ shared: true });
  const [first, second] = [await startWriter({ kept }), await startWriter({ kept })];
  first.write("info", {}, "of the first");
  second.write("info", {}, "of the second");
  for (const { read } of [first, second]) {
    const { lines, missing } = await read();
    const said = lines.filter(({ line }) => String(line["msg"]).startsWith("of the"));
    expect(said.map(({ line }) => String(line["msg"])).toSorted()).toEqual([
      "of the first",
      "of the second",
    ]);
    expect(new Set(said.map(({ replica }) => replica)).size).toBe(2);
    expect(missing).toEqual([]);
  }
});
