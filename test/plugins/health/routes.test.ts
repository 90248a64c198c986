import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import admin from "../../../plugins/admin/index.ts";
import agents from "../../../plugins/agents/index.ts";
import gating from "../../../plugins/gating/index.ts";
import health from "../../../plugins/health/index.ts";
import { createKey } from "../../../plugins/keys/key.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { optionsOf, setupTeam } from "../agents/kit.ts";
import { readDetails, refusingUrl, servePatient } from "./kit.ts";

const VIEWER = createKey("viewer");
const auth = {
  keys: { eye: { role: "viewer", hash: `sha256:${digestOf(VIEWER)}` } },
} as const;

async function read(url: string, key?: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, key ? { headers: { authorization: `Bearer ${key}` } } : {});
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return (await response.json()) as Record<string, unknown>;
}

describe("GET /healthz", () => {
  it("P001, M055: shows status, generation, last reload, servers and the model's provider; reading changes nothing", async () => {
    const argos = await servePatient();
    const { url, model } = await setupTeam({
      agents: { research: { servers: ["argos"] } },
      plugins: [health],
      config: { servers: { argos: { url: argos.url } } },
    });
    await expect
      .poll(() => read(`${url}/healthz`))
      .toEqual({
        status: "ok",
        generation: 1,
        lastReload: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        servers: { argos: { connected: true, type: "streamable-http" } },
        llm: {
          provider: "scripted",
          model: "scripted",
          status: "ok",
          checkedAt: expect.any(String),
        },
      });
    const first = await read(`${url}/healthz`);
    expect(await read(`${url}/healthz`)).toEqual(first);
    expect(argos.probes.opened).toBe(1);
    expect(model).toMatchObject({ lookups: 1, requests: [] });
  });

  it("M055: counts the generation and the time of the last reload on with each", async () => {
    const { gateway, url } = await setupGateway({ plugins: [health], client: false });
    const before = await read(`${url}/healthz`);
    const report = await gateway.apply({
      listeners: { main: { port: 0 } },
      plugins: { health: {} },
      timeouts: { default: "20s" },
    });
    expect(report.generation).toBe(2);
    expect(await read(`${url}/healthz`)).toEqual({
      ...before,
      generation: 2,
      lastReload: report.at,
    });
  });

  it("gives reasons to viewers only, and stays 200 and alive while everything is down", async () => {
    const argos = await refusingUrl();
    const model = await startModel({ lookup: 503 });
    const { url } = await setupGateway({
      plugins: [health, [agents, optionsOf({ agents: { lead: { servers: ["argos"] } } }, model)]],
      config: { servers: { argos: { url: argos } }, auth },
      client: false,
    });
    const open = await read(`${url}/healthz`);
    expect(open).toMatchObject({ status: "error", llm: { status: "error" } });
    expect(JSON.stringify(open)).not.toMatch(/message|refused|unreachable/);
    const full = await read(`${url}/healthz`, VIEWER);
    expect(full).toMatchObject({
      message: expect.stringContaining("argos MCP server unreachable: the connection was refused"),
      llm: { status: "error", message: expect.any(String) },
    });
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    const ready = await fetch(`${url}/readyz?verbose`);
    expect(await ready.text()).toBe("[+] config applied\n[+] accepting work\nok\n");
    expect((await fetch(`${url}/_meta/health`)).status).toBe(401);
    await model.close();
  });

  it("is where and for whom the options say", async () => {
    const { url } = await setupGateway({
      plugins: [[health, { path: "/status", access: "viewer" }]],
      config: { auth },
      client: false,
    });
    expect((await fetch(`${url}/healthz`)).status).toBe(404);
    expect((await fetch(`${url}/status`)).status).toBe(401);
    expect(await read(`${url}/status`, VIEWER)).toMatchObject({ status: "ok", llm: null });
  });
});

describe("the faces of health", () => {
  it("are of one mind: tool, routes, the list of servers and metrics", async () => {
    const [argos, neo4j] = [await servePatient(), await refusingUrl()];
    const { gateway, url } = await setupTeam({
      agents: { research: { servers: ["argos", "neo4j"] }, writer: {} },
      plugins: [health, [gating, { state: false }], admin],
      config: { servers: { argos: { url: argos.url }, neo4j: { url: neo4j } } },
    });
    await expect.poll(async () => (await readDetails(url)).agents["writer"]!.status).toBe("ok");
    const details = await readDetails(url);
    expect(details).toMatchObject({
      health: { status: "degraded" },
      agents: {
        research: {
          status: "degraded",
          message: "neo4j MCP server unreachable: the connection was refused",
        },
        writer: { status: "ok" },
      },
      servers: {
        argos: { reachable: true, type: "streamable-http" },
        neo4j: { reachable: false, failed: "transport", connected: false },
      },
      models: [
        { agent: "research", status: "ok" },
        { agent: "writer", status: "ok" },
      ],
    });
    const { text } = (
      (await gateway.call({ server: "research", name: "get_health" })).result!["content"] as {
        text: string;
      }[]
    )[0]!;
    expect(JSON.parse(text)).toEqual(details.agents["research"]);
    const { servers } = (await (await fetch(`${url}/_meta/servers`)).json()) as {
      servers: { name: string; health: object | null }[];
    };
    const listed = servers.filter(({ name }) => name in details.servers);
    expect(listed.map(({ name }) => name)).toEqual(["argos", "neo4j"]);
    for (const { name, health: known } of listed)
      expect(details.servers[name]).toMatchObject(known!);
    const metrics = await (await gateway.manage()).metrics();
    for (const line of [
      'health_status{agent="research"} 0.5',
      'health_status{agent="writer"} 1',
      'server_health{server="argos"} 1',
      'server_health{server="neo4j"} 0',
      'health_probe_duration_seconds_count{server="argos"} 1',
    ])
      expect(metrics.split("\n")).toContain(line);
  });

  it("forget a server that left", async () => {
    const argos = await servePatient();
    const plugins = { health: {} };
    const listeners = { main: { port: 0 } };
    const { gateway, url } = await setupGateway({
      plugins: [health],
      config: { servers: { argos: { url: argos.url } } },
      client: false,
    });
    await expect
      .poll(async () => (await gateway.manage()).metrics())
      .toContain('server_health{server="argos"} 1');
    await gateway.apply({ listeners, plugins });
    expect(await (await gateway.manage()).metrics()).not.toContain("argos");
    expect((await readDetails(url)).servers).toEqual({});
  });
});

describe("the panel of the agents", () => {
  it("names each agent with its health, the reason and the time, and is not there without agents", async () => {
    const { url } = await setupTeam({
      agents: { research: { servers: ["argos"] } },
      plugins: [health, gating, admin],
      config: { servers: { argos: { url: await refusingUrl() } } },
    });
    const panelsOf = async (at: string): Promise<readonly Panel[]> =>
      ((await (await fetch(`${at}/_meta/ui`)).json()) as { panels: Panel[] }).panels;
    const panel = (await panelsOf(url)).find(({ id }) => id === "health/agents");
    const { from, rows, columns } = panel!.view.table;
    expect(`${from} ${rows}`).toBe("GET /_meta/health /agents");
    const { agents: shown } = (await readDetails(url)) as unknown as {
      agents: Record<string, Record<string, unknown>>;
    };
    const values = columns.map(({ label, value }) => [label, shown["research"]![value.slice(1)]]);
    expect(Object.fromEntries(values)).toEqual({
      Agent: undefined,
      Health: expect.stringMatching(/^(?:degraded|error)$/),
      Reason: expect.stringContaining("argos"),
      Checked: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
    const without = await setupGateway({ plugins: [health, gating, admin], client: false });
    expect(await panelsOf(without.url)).toEqual([]);
  });
});

interface Panel {
  readonly id: string;
  readonly view: {
    readonly table: {
      readonly from: string;
      readonly rows: string;
      readonly columns: readonly { readonly label: string; readonly value: string }[];
    };
  };
}
