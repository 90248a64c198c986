import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import type { Gateway, GatewayConfigInput } from "../../../core/index.ts";
import { setupGateway, testPlugin } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import breaker, { type BreakerStatus } from "../../../plugins/breaker/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { rpc, serveHttp, type Running } from "../servers/support/servers.ts";

const SCRIPTED = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);
const QUICK = { failures: 5, initial: "300ms", max: "600ms" };

testPlugin(breaker, { config: QUICK, changed: { failures: 2 } });

/** An MCP server over HTTP that does what `act` says for every call. */
async function serveUpstream(
  act: (calls: number) => "answer" | "refuse" | "hang",
  port?: number,
): Promise<Running & { readonly calls: () => number; readonly discoveries: () => number }> {
  let calls = 0;
  let discoveries = 0;
  const running = await serveHttp((req, res, body) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    if (body.method === "server/discover") {
      discoveries++;
      return rpc(res, body.id, {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        resultType: "complete",
      });
    }
    if (body.method === "tools/list")
      return rpc(res, body.id, {
        tools: [{ name: "work", inputSchema: { type: "object" } }],
        resultType: "complete",
      });
    const action = act(++calls);
    if (action === "refuse") return void res.writeHead(500).end();
    if (action === "hang") return;
    rpc(res, body.id, { content: [{ type: "text", text: "done" }], resultType: "complete" });
  }, port);
  onTestFinished(() => running.close());
  return { ...running, calls: () => calls, discoveries: () => discoveries };
}

/** How a call ends: `ok`, or the code of its failure. */
async function endOf(gateway: Gateway, name = "work", args = {}): Promise<string> {
  try {
    await gateway.call({ server: "up", name, args });
    return "ok";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

async function ends(gateway: Gateway, times: number, name?: string): Promise<string[]> {
  const list: string[] = [];
  for (let count = 0; count < times; count++) list.push(await endOf(gateway, name));
  return list;
}

async function statusOf(url: string): Promise<BreakerStatus> {
  const body = (await (await fetch(`${url}/_meta/breakers`)).json()) as {
    breakers: Record<string, BreakerStatus>;
  };
  return body.breakers["up"]!;
}

function config(
  server: GatewayConfigInput["servers"],
  options: Record<string, unknown> = QUICK,
): GatewayConfigInput {
  return {
    listeners: { main: { port: 0 } },
    management: { mutations: true },
    plugins: { breaker: options },
    ...(server && { servers: server }),
  };
}

async function startGateway(
  up: NonNullable<GatewayConfigInput["servers"]>[string],
  options: Record<string, unknown> = QUICK,
): Promise<{ gateway: Gateway; url: string; changes: BreakerStatus[] }> {
  const { gateway, url } = await setupGateway({
    plugins: [breaker],
    config: config({ up }, options),
    client: false,
  });
  const changes: BreakerStatus[] = [];
  gateway.hook("breaker:state", (_server, status) => void changes.push(status));
  await expect.poll(() => gateway.servers.get("up")!.status.state).toBe("ready");
  return { gateway, url, changes };
}

it("M109, M130: a server that refuses is not called any more, is tried once with a new connection, and comes back", async () => {
  let isWell = false;
  const server = await serveUpstream(() => (isWell ? "answer" : "refuse"));
  const { gateway, url, changes } = await startGateway({ url: server.url, protocol: "modern" });
  expect(await ends(gateway, 7)).toEqual([
    ...Array.from({ length: 5 }, () => "upstream_error"),
    "circuit_open",
    "circuit_open",
  ]);
  expect(server.calls()).toBe(5);
  const dialled = server.discoveries();
  expect(await statusOf(url)).toMatchObject({ state: "open", failures: 5 });
  await expect.poll(() => endOf(gateway)).toBe("upstream_error");
  expect(server.calls()).toBe(6);
  expect(server.discoveries()).toBeGreaterThan(dialled);
  isWell = true;
  await expect.poll(() => endOf(gateway)).toBe("ok");
  expect(changes.map(({ state }) => state)).toEqual([
    "open",
    "half-open",
    "open",
    "half-open",
    "closed",
  ]);
  expect(await statusOf(url)).toEqual({ state: "closed", failures: 0 });
  const metrics = await (await gateway.manage()).metrics();
  expect(metrics).toContain('breaker_state{server="up"} 0');
  expect(metrics).toContain('breaker_opened_total{server="up"} 2');
});

it("a server that hangs opens its circuit by timeouts, because the deadline is around the breaker", async () => {
  const server = await serveUpstream(() => "hang");
  // Long enough that all five have arrived, on a machine with other work, too.
  const { gateway } = await startGateway({ url: server.url, protocol: "modern", timeout: "1s" });
  const calls = await Promise.all(Array.from({ length: 5 }, () => endOf(gateway)));
  expect(calls).toEqual(Array.from({ length: 5 }, () => "timeout"));
  expect(await endOf(gateway)).toBe("circuit_open");
  expect(server.calls()).toBe(5);
});

it("a caller that gives up opens nothing, neither by cancel nor by a time limit of its own", async () => {
  const server = await serveUpstream(() => "hang");
  const { gateway, url } = await startGateway({ url: server.url, protocol: "modern" });
  for (let count = 0; count < 6; count++) {
    const gone = new AbortController();
    const call = gateway.call({ server: "up", name: "work", signal: gone.signal });
    gone.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await expect(gateway.call({ server: "up", name: "work", timeout: 5 })).rejects.toMatchObject({
      code: "timeout",
    });
  }
  expect(await statusOf(url)).toEqual({ state: "closed", failures: 0 });
});

it("isError results and JSON-RPC errors never count", async () => {
  const { gateway, url } = await startGateway({ command: process.execPath, args: [SCRIPTED] });
  for (let count = 0; count < 10; count++) {
    expect((await gateway.call({ server: "up", name: "tool-error" })).isError).toBe(true);
    expect((await gateway.call({ server: "up", name: "error" })).isRpcError).toBe(true);
  }
  expect(await statusOf(url)).toEqual({ state: "closed", failures: 0 });
});

it("a child that dies with every call is respawned by the trial call and works again", async () => {
  const { gateway, url } = await startGateway({
    command: process.execPath,
    args: [SCRIPTED],
    backoff: { initial: "60s", max: "60s" },
  });
  expect(await ends(gateway, 6, "crash")).toEqual([
    ...Array.from({ length: 5 }, () => "upstream_error"),
    "circuit_open",
  ]);
  // The supervision would wait a minute now: without a respawn the trial could not succeed.
  await expect.poll(() => endOf(gateway, "echo")).toBe("ok");
  expect(await statusOf(url)).toEqual({ state: "closed", failures: 0 });
});

it("M145: shows why, how often and until when, in the refusal and in the list of circuits", async () => {
  const server = await serveUpstream(() => "refuse");
  const { gateway, url } = await startGateway(
    { url: server.url, protocol: "modern" },
    { failures: 2 },
  );
  await ends(gateway, 2);
  const status = await statusOf(url);
  expect(status).toEqual({
    state: "open",
    failures: 2,
    reason: expect.stringContaining("2 transport failures in a row, the last: "),
    openedAt: expect.any(String),
    retryAt: expect.any(String),
  });
  const wait = Date.parse(status.retryAt!) - Date.parse(status.openedAt!);
  expect(wait).toBeGreaterThanOrEqual(15_000);
  expect(wait).toBeLessThanOrEqual(30_000);
  await expect(gateway.call({ server: "up", name: "work" })).rejects.toMatchObject({
    code: "circuit_open",
    status: 503,
    data: { failures: 2, reason: status.reason, retryAt: status.retryAt },
    headers: { "retry-after": expect.stringMatching(/^\d+$/) },
  });
});

it("a reset by route lets the next call through", async () => {
  let isWell = false;
  const server = await serveUpstream(() => (isWell ? "answer" : "refuse"));
  const { gateway, url } = await startGateway({ url: server.url, protocol: "modern" }, {});
  await ends(gateway, 5);
  expect(await endOf(gateway)).toBe("circuit_open");
  isWell = true;
  const reset = await fetch(`${url}/_meta/servers/up/breaker/reset`, { method: "POST" });
  expect(await reset.json()).toEqual({
    ok: true,
    server: "up",
    breaker: { state: "closed", failures: 0 },
  });
  expect(await endOf(gateway)).toBe("ok");
  const missing = await fetch(`${url}/_meta/servers/nobody/breaker/reset`, { method: "POST" });
  expect([missing.status, await missing.json()]).toMatchObject([
    404,
    { ok: false, error: { code: "not_found" } },
  ]);
});

it("stays open through a reload that changes the plugin, and is forgotten with its server", async () => {
  const server = await serveUpstream(() => "refuse");
  const up = { url: server.url, protocol: "modern" as const };
  const { gateway, url } = await startGateway(up, { failures: 3 });
  await ends(gateway, 3);
  const report = await gateway.apply(config({ up }, { failures: 4 }));
  expect(report.plugins.changed).toEqual(["breaker"]);
  expect(await statusOf(url)).toMatchObject({ state: "open", failures: 3 });
  expect(await endOf(gateway)).toBe("circuit_open");
  await gateway.apply(config({}, { failures: 4 }));
  await gateway.apply(config({ up }, { failures: 4 }));
  expect(await statusOf(url)).toEqual({ state: "closed", failures: 0 });
});

it("a successful reinit by an operator closes the circuit", async () => {
  let isWell = false;
  const server = await serveUpstream(() => (isWell ? "answer" : "refuse"));
  const { gateway, url } = await setupGateway({
    plugins: [admin, gating, breaker],
    config: {
      management: { mutations: true },
      servers: { up: { url: server.url, protocol: "modern" } },
    },
    client: false,
  });
  await expect.poll(() => gateway.servers.get("up")!.status.state).toBe("ready");
  await ends(gateway, 5);
  const shown = await (await fetch(`${url}/_meta/servers`)).json();
  expect(shown).toMatchObject({ servers: [{ name: "up", breaker: { state: "open" } }] });
  isWell = true;
  const reinit = await fetch(`${url}/_meta/reinit/up`, { method: "POST" });
  expect(await reinit.json()).toMatchObject({ ok: true, server: { breaker: { state: "closed" } } });
  expect(await endOf(gateway)).toBe("ok");
});

it("M109, M145: autoDisable switches a server off after so many openings in a row, says why, and switching on closes", async () => {
  const server = await serveUpstream(() => "refuse");
  const { gateway, url } = await setupGateway({
    plugins: [
      admin,
      gating,
      [breaker, { failures: 2, initial: "20ms", max: "20ms", autoDisable: true, disableAfter: 2 }],
    ],
    config: {
      management: { mutations: true },
      servers: { up: { url: server.url, protocol: "modern" } },
    },
    client: false,
  });
  const flips: unknown[] = [];
  gateway.hook("gating:changed", (change) => void flips.push(change));
  const audited: unknown[] = [];
  gateway.hook("mutation", (mutation) => void audited.push(mutation));
  await expect.poll(() => gateway.servers.get("up")!.status.state).toBe("ready");
  await ends(gateway, 2);
  expect(flips).toEqual([]);
  await expect.poll(() => endOf(gateway)).toBe("disabled");
  expect(flips).toMatchObject([{ server: "up", enabled: false, by: "breaker" }]);
  await expect
    .poll(() => audited)
    .toMatchObject([
      { who: "plugin:breaker", action: "breaker:disable", target: { server: "up" } },
    ]);
  expect((await statusOf(url)).reason).toMatch(
    /^Switched off by the breaker after 2 openings in a row; 3 transport failures in a row/,
  );
  await fetch(`${url}/_meta/servers/up/enable`, { method: "POST" });
  expect(await statusOf(url)).toEqual({ state: "closed", failures: 0 });
  expect(await endOf(gateway)).toBe("upstream_error");
});

it("C48: without autoDisable no flag is touched, however often a circuit opens", async () => {
  const server = await serveUpstream(() => "refuse");
  const { gateway, url } = await setupGateway({
    plugins: [gating, [breaker, { failures: 1, initial: "1ms", max: "1ms" }]],
    config: { servers: { up: { url: server.url, protocol: "modern" } } },
    client: false,
  });
  const flips: unknown[] = [];
  gateway.hook("gating:changed", (change) => void flips.push(change));
  await expect.poll(() => gateway.servers.get("up")!.status.state).toBe("ready");
  const failures = async (): Promise<unknown> => {
    await endOf(gateway);
    return (await statusOf(url)).failures;
  };
  await expect.poll(failures).toBeGreaterThan(5);
  expect(flips).toEqual([]);
});

it("autoDisable without the plugin gating is refused", async () => {
  await expect(
    setupGateway({ plugins: [[breaker, { autoDisable: true }]], client: false }),
  ).rejects.toThrow(/gating/);
});
