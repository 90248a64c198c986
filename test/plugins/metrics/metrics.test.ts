import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import gating, { Gating } from "propylon/plugins/gating";
import metrics, { type HourView } from "propylon/plugins/metrics";
import {
  Answer,
  definePlugin,
  GatewayError,
  type AnyPlugin,
  type Call,
  type GatewayConfigInput,
} from "../../../core/index.ts";
import { testPlugin, type PluginEntry, type TestGateway } from "../../../core/testing/index.ts";
import { CallCounts } from "../../../plugins/metrics/counts.ts";
import { LastHour } from "../../../plugins/metrics/last-hour.ts";
import { GatewayLife } from "../../../plugins/metrics/life.ts";
import { startGateway } from "../../contract/kit.ts";
import { parsePage, promtool, valuesOf } from "./exposition.ts";

const SERVER = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);
const scripted = { command: process.execPath, args: [SERVER] };

/** Refuses and answers as told, at the stage where gating does. */
const gate = definePlugin({
  name: "gate",
  setup(gateway) {
    gateway.tool("local", { description: "Answers.", run: () => "done" });
    gateway.use("gate", (call, next) => {
      if (call.args?.["disabled"]) throw new GatewayError("disabled", "It is switched off.");
      const code = call.args?.["rpc"];
      if (typeof code === "number") return Promise.resolve(Answer.error({ code, message: "no" }));
      return next(call);
    });
  },
});

/** Switches off what its tool is told to. */
const flags = definePlugin({
  name: "flags",
  inject: { gating: Gating },
  setup(gateway) {
    gateway.tool("set", {
      description: "Switches something off.",
      input: z.object({ server: z.string(), tool: z.string().optional() }),
      async run({ server, tool }) {
        const flag = { server, enabled: false, ...(tool !== undefined && { tool }) };
        await gateway.services.gating.set([flag], "test");
        return "done";
      },
    });
  },
});

interface Figures {
  readonly servers_enabled: number;
  readonly tools_enabled: number;
  readonly tool_calls_total: number;
  readonly tool_errors_total: Record<string, number>;
  readonly tool_call_duration_seconds: {
    count: number;
    sum: number;
    buckets: Record<string, number>;
  };
  readonly tool_calls_in_flight: number;
  readonly sessions_open: Record<string, number>;
  readonly config_generation: number;
  readonly config_reloads_total: { done: number; failed: number };
  readonly upstream_state: Record<string, string>;
  readonly upstream_reconnects_total: Record<string, number>;
  readonly tools: { server: string; tool: string; calls: Record<string, number> }[];
}

async function start(
  options: Record<string, unknown> = {},
  plugins: readonly PluginEntry[] = [gate],
  config: GatewayConfigInput = { servers: { s: scripted } },
) {
  const own: PluginEntry = [metrics, { cacheTtl: 0, ...options }];
  const started = await startGateway({ plugins: [own, ...plugins], config });
  return { ...started, ...readerOf(started) };
}

function readerOf({ url }: TestGateway) {
  return {
    json: async () =>
      ((await (await fetch(`${url}/_meta/metrics`)).json()) as { metrics: Figures }).metrics,
    page: async () => parsePage(await (await fetch(`${url}/metrics`)).text()),
  };
}

const swallow = (): void => {};

describe("figures about calls", () => {
  it("P002, M111 M112 M115: /metrics and /_meta/metrics agree with the calls made, in every kind of ending", async () => {
    const { gateway, client, json, page } = await start();
    const call = (name: string, args = {}, timeout?: number) =>
      gateway
        .call({ server: "s", name, args, ...(timeout !== undefined && { timeout }) })
        .then(swallow, swallow);
    await Promise.all([
      ...Array.from({ length: 40 }, () =>
        client.callTool({ name: "echo", arguments: { text: "a" } }),
      ),
      ...Array.from({ length: 7 }, () => client.callTool({ name: "tool-error", arguments: {} })),
      ...Array.from({ length: 5 }, () =>
        client.callTool({ name: "error", arguments: { code: -32050 } }).catch(swallow),
      ),
      ...Array.from({ length: 3 }, () => call("hang", {}, 50)),
      ...Array.from({ length: 4 }, () => call("echo", { disabled: true })),
      ...Array.from({ length: 2 }, (_, at) => call(`unknown-${at}`)),
      gateway.call({ server: "nowhere", name: "x" }).catch(swallow),
      gateway.call({ server: "gate", name: "local" }),
    ]);
    const expected = {
      "s echo ok": 40,
      "s echo refused": 4,
      "s tool-error tool_error": 7,
      "s error tool_error": 5,
      "s hang timed_out": 3,
      "s other tool_error": 2,
      "other other refused": 1,
      "gate local ok": 1,
    };
    const shown = await page();
    expect(valuesOf(shown, "tool_calls_total", "server", "tool", "outcome")).toEqual(expected);
    const errors = {
      disabled: 4,
      tool_error: 7,
      "-32050": 5,
      timeout: 3,
      "-32602": 2,
      not_found: 1,
    };
    expect(valuesOf(shown, "tool_errors_total", "code")).toEqual(errors);
    const figures = await json();
    const total = Object.values(expected).reduce((sum, count) => sum + count, 0);
    expect(figures.tool_calls_total).toBe(total);
    expect(figures.tool_errors_total).toEqual(errors);
    const flat = figures.tools.flatMap(({ server, tool, calls }) =>
      Object.entries(calls)
        .filter(([, count]) => count > 0)
        .map(([outcome, count]) => [`${server} ${tool} ${outcome}`, count]),
    );
    expect(Object.fromEntries(flat)).toEqual(expected);
    expect(figures.tool_call_duration_seconds.count).toBe(total);
    expect(figures.tool_call_duration_seconds.buckets["+Inf"]).toBe(total);
    expect(figures.tool_call_duration_seconds.buckets["0.02"]).toBeLessThanOrEqual(total - 3);
    const counts = shown
      .get("tool_call_duration_seconds")!
      .samples.filter(({ name }) => name.endsWith("_count"));
    expect(counts.reduce((sum, { value }) => sum + value, 0)).toBe(total);
    expect(figures.tool_calls_in_flight).toBe(0);
  });

  it("counts a running call as in flight, and a cancelled one as cancelled", async () => {
    const { gateway, json, page } = await start();
    const abort = new AbortController();
    const running = gateway.call({ server: "s", name: "hang", signal: abort.signal });
    expect((await json()).tool_calls_in_flight).toBe(1);
    abort.abort();
    await running.catch(swallow);
    const figures = await json();
    expect(figures.tool_calls_in_flight).toBe(0);
    expect(figures.tool_errors_total).toEqual({});
    expect(valuesOf(await page(), "tool_calls_total", "server", "tool", "outcome")).toEqual({
      "s hang cancelled": 1,
    });
  });

  it("a name that nobody lists is no label, and tools beyond the limit share one", async () => {
    const { gateway, page } = await start({ maxTools: 2 });
    for (const name of ["echo", "facts", "meta", "log", "made-up"])
      await gateway.call({ server: "s", name }).catch(swallow);
    await gateway.call({ server: "made-up", name: "made-up" }).catch(swallow);
    const shown = await page();
    expect(valuesOf(shown, "tool_calls_total", "server", "tool", "outcome")).toEqual({
      "s echo ok": 1,
      "s facts ok": 1,
      "s other ok": 2,
      "s other tool_error": 1,
      "other other refused": 1,
    });
  });

  it("invented JSON-RPC codes do not become series without end", async () => {
    const { gateway, json } = await start();
    for (let rpc = 1; rpc <= 80; rpc++)
      await gateway.call({ server: "gate", name: "local", args: { rpc } });
    const { tool_errors_total: errors } = await json();
    expect(Object.keys(errors)).toHaveLength(51);
    expect(errors["other"]).toBe(30);
  });

  it("the histograms of the MCP conventions tell served from relayed requests", async () => {
    const { client, page, gateway } = await start({ toolNames: true });
    await client.callTool({ name: "echo", arguments: { text: "a" } });
    await client.callTool({ name: "tool-error", arguments: {} });
    await client.callTool({ name: "echo", arguments: { disabled: true } }).catch(swallow);
    await client.readResource({ uri: "file:///one" });
    await gateway.call({ server: "gate", name: "local" });
    const shown = await page();
    const counts = (name: string, ...by: string[]) =>
      Object.fromEntries(
        shown
          .get(name)!
          .samples.filter((sample) => sample.name === `${name}_count`)
          .map(({ labels, value }) => [by.map((label) => labels[label] ?? "-").join(" "), value]),
      );
    const by = ["mcp_method_name", "gen_ai_tool_name", "error_type"];
    expect(counts("mcp_server_operation_duration_seconds", ...by)).toEqual({
      "tools/call echo -": 1,
      "tools/call tool-error tool_error": 1,
      "tools/call echo disabled": 1,
      "resources/read - -": 1,
    });
    const relayed = counts(
      "mcp_client_operation_duration_seconds",
      "server",
      "network_transport",
      ...by,
    );
    expect(relayed).toEqual({
      "s pipe tools/call echo -": 1,
      "s pipe tools/call tool-error tool_error": 1,
      "s pipe resources/read - -": 1,
    });
  });
});

describe("the pages", () => {
  it("M070 M117: what promtool checks holds for the whole page, of every plugin, at any time", async () => {
    const { gateway, client, url } = await start({ toolNames: true });
    const read = async () => (await fetch(`${url}/metrics`)).text();
    const empty = await read();
    parsePage(empty);
    await client.callTool({ name: "echo", arguments: { text: "a" } });
    await gateway.call({ server: "s", name: 'we"ird\\\n' }).catch(swallow);
    const full = await read();
    parsePage(full);
    for (const text of [empty, full])
      expect(promtool(["check", "metrics"], text) ?? "", "promtool").toBe("");
  });

  it("M116 M153: /_meta/metrics has the names of the specification", async () => {
    const { json, client } = await start();
    await client.callTool({ name: "tool-error", arguments: {} });
    expect(await json()).toMatchObject({
      servers_enabled: 2,
      tools_enabled: expect.any(Number),
      tool_calls_total: 1,
      tool_errors_total: { tool_error: 1 },
      sessions_open: { mcp: 1 },
      upstream_state: { s: "ready", gate: "ready" },
      config_generation: 1,
    });
  });

  it("M113 M114: counts what is switched on, as the gating plugin says", async () => {
    const { gateway, json, page } = await start({}, [[gating, { state: false }], flags]);
    const both = async () => {
      const { servers_enabled: servers, tools_enabled: tools } = await json();
      const shown = await page();
      expect(valuesOf(shown, "servers_enabled")).toEqual({ "": servers });
      expect(valuesOf(shown, "tools_enabled")).toEqual({ "": tools });
      return { servers, tools };
    };
    const all = gateway.servers.get("s")!.catalogue.tools.length;
    expect(await both()).toEqual({ servers: 2, tools: all + 1 });
    await gateway.call({ server: "flags", name: "set", args: { server: "s", tool: "echo" } });
    expect(await both()).toEqual({ servers: 2, tools: all });
    await gateway.call({ server: "s", name: "echo" }).catch(swallow);
    expect((await json()).tool_errors_total).toEqual({ disabled: 1 });
    await gateway.call({ server: "flags", name: "set", args: { server: "s" } });
    expect(await both()).toEqual({ servers: 1, tools: 1 });
  });

  it("M117: ?format=prometheus is the same page, another format is refused", async () => {
    const { url } = await start({ process: false });
    const answer = await fetch(`${url}/_meta/metrics?format=prometheus`);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await answer.text()).toBe(await (await fetch(`${url}/metrics`)).text());
    const wrong = await fetch(`${url}/_meta/metrics?format=xml`);
    expect(wrong.status).toBe(422);
    expect(await wrong.json()).toMatchObject({ ok: false, error: { code: "invalid" } });
  });

  it("M111 M112 M113 M114 M115: the exact names, and with a prefix the prefixed ones", async () => {
    const names = ["tool_calls_total", "tool_errors_total", "servers_enabled", "tools_enabled"];
    const all = [...names, "tool_call_duration_seconds"];
    const plain = await (await start()).page();
    expect([...plain.keys()]).toEqual(expect.arrayContaining(all));
    const prefixed = await (await start({ prefix: "acme_" })).page();
    expect([...prefixed.keys()].filter((name) => !name.startsWith("acme_"))).toEqual([]);
    expect([...prefixed.keys()]).toEqual(expect.arrayContaining(all.map((name) => `acme_${name}`)));
  });

  it("is rendered once per period however many ask", async () => {
    const { url, client } = await start({ cacheTtl: 3600 });
    const read = async () => (await fetch(`${url}/metrics`)).text();
    const first = await read();
    await client.callTool({ name: "echo", arguments: { text: "a" } });
    expect(new Set([first, ...(await Promise.all([read(), read(), read()]))]).size).toBe(1);
  });

  it("asks for a login unless it is public, and then shows the JSON to nobody either", async () => {
    const config = { auth: { apiKey: "a-key-of-some-length" }, servers: {}, endpoints: {} };
    const closed = await start({}, [], config);
    expect((await fetch(`${closed.url}/metrics`)).status).toBe(401);
    const open = await start({ public: true }, [], config);
    expect((await fetch(`${open.url}/metrics`)).status).toBe(200);
    expect((await fetch(`${open.url}/_meta/metrics`)).status).toBe(401);
  });

  it("answers on the listener it was given", async () => {
    const { gateway, url } = await start({ listener: "private" }, [], {
      listeners: { main: { port: 0 }, private: { port: 0 } },
    });
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    const other = gateway.addresses.get("private")!.url;
    expect((await fetch(`${other}/metrics`)).status).toBe(200);
  });
});

describe("what happens to the gateway", () => {
  const configOf = (servers: object, options: object = { cacheTtl: 0 }): GatewayConfigInput => ({
    listeners: { main: { port: 0 } },
    servers: servers as NonNullable<GatewayConfigInput["servers"]>,
    plugins: { metrics: { ...options }, gate: {} },
  });

  it("counters go on through reloads that leave the plugin alone and through those that change it", async () => {
    const { gateway, client, json } = await start();
    await client.callTool({ name: "echo", arguments: { text: "a" } });
    await gateway.apply(configOf({ s: scripted, t: scripted }));
    await client.callTool({ name: "echo", arguments: { text: "a" } }).catch(swallow);
    await gateway.apply(configOf({ s: scripted }, { cacheTtl: 0, maxTools: 5 }));
    const figures = await json();
    expect(figures.tool_calls_total).toBe(2);
    expect(figures.config_reloads_total).toEqual({ done: 2, failed: 0 });
    expect(figures.config_generation).toBe(3);
  });

  it("drops the series of a server that is gone, and starts anew with other buckets", async () => {
    const { gateway, json, page } = await start({}, [gate], {
      servers: { s: scripted, t: scripted },
      endpoints: { mcp: { servers: ["s"] } },
    });
    await gateway.call({ server: "s", name: "echo" });
    await gateway.call({ server: "t", name: "echo" });
    await gateway.apply(configOf({ s: scripted }));
    const shown = await page();
    expect(valuesOf(shown, "tool_calls_total", "server", "tool")).toEqual({ "s echo": 1 });
    const servers = [...shown.values()].flatMap(({ samples }) =>
      samples.map(({ labels }) => labels["server"]),
    );
    expect(servers).not.toContain("t");
    expect((await json()).tool_calls_total).toBe(2);
    await gateway.apply(configOf({ s: scripted }, { cacheTtl: 0, buckets: [1] }));
    expect((await json()).tool_call_duration_seconds).toEqual({
      count: 0,
      sum: 0,
      buckets: { "1": 0, "+Inf": 0 },
    });
  });

  it("a refused reload is counted, and a reconnect, and the end of a session", async () => {
    const { gateway, json, page, client } = await start();
    await gateway.apply({ plugins: { nonesuch: {} } }).catch(swallow);
    await gateway.servers.get("s")!.reconnect!();
    await client.callTool({ name: "echo", arguments: { text: "a" } });
    const figures = await json();
    expect(figures.config_reloads_total).toEqual({ done: 0, failed: 1 });
    expect(figures.upstream_reconnects_total).toEqual({ s: 1 });
    const refused = valuesOf(await page(), "session_streams_refused_total", "bound");
    expect(refused).toEqual({ principal: 0, total: 0 });
    const states = valuesOf(await page(), "upstream_state", "server", "state");
    expect(states).toMatchObject({ "s ready": 1, "s failed": 0 });
    const { transport } = client as unknown as {
      transport: { terminateSession(): Promise<void> };
    };
    await transport.terminateSession();
    const after = await page();
    expect(valuesOf(after, "sessions_open", "endpoint")).toEqual({ mcp: 0 });
    const ended = after
      .get("mcp_server_session_duration_seconds")!
      .samples.find(({ name }) => name.endsWith("_count"));
    expect(ended!.value).toBe(1);
  });
});

it("counts streams of sessions that had no room, by what was full", () => {
  const life = new GatewayLife([1]);
  const listeners = new Map<string, (...args: never[]) => void>();
  life.watch({ hook: (name, listener) => void listeners.set(name, listener) });
  const tell = listeners.get("stream:refused") as (endpoint: string, bound: string) => void;
  for (const bound of ["principal", "total", "total"]) tell("mcp", bound);
  expect(life.refusedStreams).toEqual({ principal: 1, total: 2 });
});

const plugin: AnyPlugin = metrics;
testPlugin(plugin, { config: {}, changed: { prefix: "x_" } });

it("43: the last hour by minutes has the figures of the page for Prometheus", async () => {
  const { gateway, url, page } = await start();
  const call = (args: Record<string, unknown>) =>
    gateway.call({ server: "gate", name: "local", args }).catch(() => undefined);
  for (let count = 0; count < 7; count++) await call({});
  for (let count = 0; count < 2; count++) await call({ disabled: true });
  await call({ rpc: -32000 });
  const hour = (await (await fetch(`${url}/_meta/metrics/hour`)).json()) as HourView;
  const sum = (member: "calls" | "failed") =>
    hour.minutes.reduce((total, minute) => total + minute[member], 0);
  const shown = await page();
  const total = (name: string) =>
    shown.get(name)!.samples.reduce((all, { value }) => all + value, 0);
  expect(sum("calls")).toBe(total("tool_calls_total"));
  expect(sum("failed")).toBe(total("tool_errors_total"));
  expect([sum("calls"), sum("failed")]).toEqual([10, 3]);
  expect(hour.busiest).toMatchObject([{ server: "gate", tool: "local", calls: 10, failed: 3 }]);
  // In the bucket in which 95 of 100 calls are done.
  const times = shown.get("tool_call_duration_seconds")!.samples;
  const bounds = times
    .filter(({ labels, value }) => "le" in labels && value >= 0.95 * 10)
    .map(({ labels }) => Number(labels["le"]!.replace("+Inf", "Infinity")));
  expect(hour.slowest[0]!.p95).toBeGreaterThan(0);
  expect(hour.slowest[0]!.p95).toBeLessThanOrEqual(Math.min(...bounds) * 1_000);
  expect(hour.missing).toEqual([]);
});

it("43: a minute has what ended in it, and what is older than an hour is gone", () => {
  let now = Date.parse("2026-11-30T10:00:30Z");
  const counts = new CallCounts([0.1, 1]);
  const hour = new LastHour(counts, () => now);
  const call = { method: "tools/call", server: "s", name: "t", source: "http" } as Call;
  const labelling = { maxTools: 9, toolNames: false, isServer: () => true, transportOf: () => "" };
  const end = (seconds: number) =>
    counts.end({ ...call, tool: {} } as Call, Answer.result({ content: [] }), seconds, labelling);
  end(0.05);
  now += 60_000;
  hour.mark();
  end(0.5);
  end(2);
  const minutes = () => hour.read().minutes.map(({ at, calls, times }) => [at, calls, times]);
  expect(minutes()).toEqual([
    [Date.parse("2026-11-30T10:00:00Z"), 1, [1, 0, 0]],
    [Date.parse("2026-11-30T10:01:00Z"), 2, [0, 1, 1]],
  ]);
  for (let minute = 0; minute < 60; minute++) {
    now += 60_000;
    hour.mark();
  }
  end(0.05);
  const { minutes: last, tools } = hour.read();
  expect(last).toHaveLength(60);
  expect(last.map(({ calls }) => calls)).toEqual([...Array.from({ length: 59 }, () => 0), 1]);
  expect(tools).toMatchObject([{ server: "s", tool: "t", calls: 1, times: [1, 0, 0] }]);
  // A machine that slept for a day.
  now += 86_400_000;
  expect(hour.read()).toMatchObject({ minutes: [{ calls: 0 }], tools: [] });
});
