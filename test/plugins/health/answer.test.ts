import {
  Client as ModernClient,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PluginEntry } from "../../../core/testing/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { Gating, type GatingService } from "../../../plugins/gating/service.ts";
import health from "../../../plugins/health/index.ts";
import { definePlugin } from "../../../core/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { setupTeam } from "../agents/kit.ts";
import { askHealth, clientOf, openBlackHole, refusingUrl, servePatient } from "./kit.ts";

const quick = (options: object = {}): PluginEntry => [
  health,
  { interval: "100ms", timeout: "5s", ...options },
];

const ready = { status: "ok", timestamp: expect.any(String) };

/** A machine with other work may take longer than the budget for the first probes. */
async function expectReady(client: Client): Promise<void> {
  await expect.poll(() => askHealth(client)).toEqual(ready);
}

describe("get_health", () => {
  it("P048, P049: reads the same for clients of both eras, and beside the tools of a remote agent", async () => {
    const argos = await servePatient();
    const { urlOf } = await setupTeam({
      agents: { argosAgent: { server: "argos" } },
      plugins: [health],
      config: { servers: { argos: { url: argos.url } } },
    });
    const url = urlOf("argosAgent");
    await expectReady(await clientOf(url));
    const modern = new ModernClient(
      { name: "health-test", version: "1.0.0" },
      { versionNegotiation: { mode: "auto" } },
    );
    await modern.connect(new StreamableHTTPClientTransport(new URL(url)));
    onTestFinished(() => modern.close());
    expect(modern.getProtocolEra()).toBe("modern");
    const { content, structuredContent } = await modern.callTool({ name: "get_health" });
    expect(structuredContent).toBeUndefined();
    expect(content).toEqual([{ type: "text", text: expect.any(String) }]);
    expect(JSON.parse((content as { text: string }[])[0]!.text)).toEqual(ready);
  });

  it("P010, P042, P045, P046, P047, P048, P049, P050, P051, P053, P057, P070, P127: is a tool of every agent, answered in code", async () => {
    const argos = await servePatient();
    const { urlOf, model } = await setupTeam({
      agents: { research: { servers: ["argos"] }, writer: {} },
      plugins: [health],
      config: { servers: { argos: { url: argos.url } } },
    });
    for (const agent of ["research", "writer"]) {
      const client = await clientOf(urlOf(agent));
      const { tools } = await client.listTools();
      expect(tools.find(({ name }) => name === "get_health")).toEqual({
        name: "get_health",
        description: "Returns the health status of this agent and its downstream dependencies.",
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
      });
      await expectReady(client);
    }
    expect(model.requests).toEqual([]);
  });

  it("P052, P054, P060, P067, P071: is degraded while some of the agent's servers are down, and names them; well again when they are", async () => {
    const [argos, neo4j, other] = [
      await servePatient(),
      await servePatient(),
      await servePatient(),
    ];
    const { urlOf } = await setupTeam({
      agents: { research: { servers: ["argos", "neo4j"] } },
      plugins: [quick()],
      config: {
        servers: {
          argos: { url: argos.url },
          neo4j: { url: neo4j.url },
          unrelated: { url: other.url },
        },
      },
    });
    const client = await clientOf(urlOf("research"));
    await expectReady(client);
    other.behave((_req, res) => void res.writeHead(500).end());
    neo4j.behave((_req, res) => void res.writeHead(500).end());
    await expect
      .poll(() => askHealth(client))
      .toMatchObject({
        status: "degraded",
        message: "neo4j MCP server unreachable: answered with HTTP 500",
      });
    neo4j.behave(undefined);
    await expect.poll(() => askHealth(client)).toMatchObject({ status: "ok" });
  });

  it.each([
    [{}, "error"],
    [{ allDown: "degraded" }, "degraded"],
  ])("P059, P069: says which server is down when none is left (%j)", async (options, status) => {
    const url = await refusingUrl();
    const { urlOf } = await setupTeam({
      agents: { research: { servers: ["argos"] } },
      plugins: [quick(options)],
      config: { servers: { argos: { url } } },
    });
    expect(await askHealth(await clientOf(urlOf("research")))).toMatchObject({
      status,
      message: "argos MCP server unreachable: the connection was refused",
    });
  });

  it("P055, P073: is error while the agent cannot work", async () => {
    const { urlOf } = await setupTeam({
      agents: { broken: { instructions: { file: "missing.md" } } },
      plugins: [health],
    });
    const report = await askHealth(await clientOf(urlOf("broken")));
    expect(report).toMatchObject({
      status: "error",
      message: expect.stringContaining("missing.md"),
    });
  });

  it("P072: is degraded while the model's provider refuses, without asking it for a word", async () => {
    const model = await startModel({ lookup: 503 });
    const { urlOf } = await setupTeam({
      agents: { writer: {} },
      options: { providers: { scripted: { type: "openai-compatible", baseUrl: model.url } } },
      plugins: [health],
    });
    const report = await askHealth(await clientOf(urlOf("writer")));
    expect(report.status).toBe("degraded");
    expect(report.message).toContain("LLM provider of scripted/scripted failed its check");
    expect(model).toMatchObject({ lookups: 1, requests: [] });
    await model.close();
  });

  it("P043, P062, P074: asks the provider once a minute, and never for a completion", async () => {
    const { urlOf, model } = await setupTeam({ agents: { writer: {} }, plugins: [health] });
    const client = await clientOf(urlOf("writer"));
    for (let count = 0; count < 50; count++) await askHealth(client);
    expect(model).toMatchObject({ lookups: 1, requests: [] });
  });

  it("P072: does not wait for a provider that says nothing", async () => {
    const hole = await openBlackHole();
    const { urlOf } = await setupTeam({
      agents: { writer: {} },
      options: { providers: { scripted: { type: "openai-compatible", baseUrl: hole.url } } },
      plugins: [[health, { timeout: "1500ms" }]],
    });
    const client = await clientOf(urlOf("writer"));
    expect(await askHealth(client)).toMatchObject({
      status: "degraded",
      message: "LLM provider of scripted/scripted failed its check: no answer within 900 ms",
    });
    await expect
      .poll(async () => (await askHealth(client)).message)
      .toContain("did not answer within 1.5 s");
  });

  it("P058: is degraded while a server answers slowly on average", async () => {
    const neo4j = await servePatient({ delay: 300 });
    const { urlOf } = await setupTeam({
      agents: { research: { servers: ["neo4j"] } },
      plugins: [[health, { slow: "200ms" }]],
      config: { servers: { neo4j: { url: neo4j.url } } },
    });
    const report = await askHealth(await clientOf(urlOf("research")));
    expect(report.status).toBe("degraded");
    expect(report.message).toMatch(/^Avg response [\d.]+s — neo4j connection slow$/);
  });

  it("P060: counts the agents that an agent uses", async () => {
    const url = await refusingUrl();
    const { urlOf } = await setupTeam({
      agents: {
        research: { servers: ["argos"] },
        writer: {},
        lead: { agents: ["research", "writer"] },
      },
      plugins: [health],
      config: { servers: { argos: { url } } },
    });
    expect(await askHealth(await clientOf(urlOf("lead")))).toMatchObject({
      status: "degraded",
      message:
        "agent research cannot work (argos MCP server unreachable: the connection was refused)",
    });
  });

  it("does not probe what is switched off", async () => {
    const [argos, other] = [await servePatient(), await servePatient()];
    let switches: GatingService | undefined;
    const hand = definePlugin({
      name: "hand",
      inject: { gating: Gating },
      setup: ({ services }) => void (switches = services.gating),
    });
    const { urlOf } = await setupTeam({
      agents: { research: { servers: ["argos"] } },
      plugins: [quick(), [gating, { state: false }], hand],
      config: { servers: { argos: { url: argos.url }, other: { url: other.url } } },
    });
    const client = await clientOf(urlOf("research"));
    // Probed at the same pace: how time passes for the gateway.
    const otherIsProbed = async (times: number): Promise<void> => {
      const before = other.probes.opened;
      await expect.poll(() => other.probes.opened - before).toBeGreaterThanOrEqual(times);
    };
    await expect.poll(() => argos.probes.opened).toBeGreaterThan(2);
    await switches!.set([{ server: "argos", enabled: false }], "test");
    expect(await askHealth(client)).toMatchObject({
      status: "error",
      message: "argos MCP server unreachable: is switched off",
    });
    await otherIsProbed(1);
    await expect.poll(() => argos.probes.inFlight).toBe(0);
    const before = argos.probes.opened;
    await otherIsProbed(3);
    expect(argos.probes.opened).toBe(before);
    await switches!.set([{ server: "argos", enabled: true }], "test");
    await expect.poll(() => argos.probes.opened).toBeGreaterThan(before);
  });
});
