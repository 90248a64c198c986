import { expect, it } from "vitest";
import { healthIntervalOf, optionsSchema } from "../../../plugins/console/options.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { measureTurns } from "../../fixtures/turns.ts";
import { startHost, type AgentHost } from "./agent-host.ts";
import { type AgentView, type InstanceView, setupConsole, type TestConsole } from "./kit.ts";

const OPTIONS = { allowedAddresses: ["127.0.0.1"], healthInterval: "1s", healthTimeout: "500ms" };

async function attachHost({ ask }: TestConsole, host: AgentHost, name = "Kottos") {
  const { body: instance } = await ask<InstanceView>("POST", "/pallas", {
    registry_url: host.url,
    name,
  });
  await ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  expect((await ask("PUT", `/workspaces/ws_a/teams/${instance.id}`)).status).toBe(200);
  return instance;
}

async function agentsOf({ ask }: TestConsole): Promise<readonly AgentView[]> {
  return (await ask<{ agents: AgentView[] }>("GET", "/agents")).body.agents;
}

async function statusOf(running: TestConsole): Promise<readonly (string | undefined)[]> {
  return (await agentsOf(running)).map(({ health }) => health?.status);
}

it("P085, P086, P087, P088, P089: agents are asked how they are, and the gauge says the same as the status API", async () => {
  const host = await startHost(["harper", "mentor", "argos", "mute"]);
  host.agents.get("mentor")!.health = { status: "degraded", message: "Neo4j is slow" };
  host.agents.get("argos")!.health = { status: "error", message: "Argos is gone" };
  host.agents.get("mute")!.health = "hang";
  const running = await setupConsole(OPTIONS);
  const { id } = await attachHost(running, host);
  await expect
    .poll(() => agentsOf(running))
    .toMatchObject([
      { id: `${id}:harper`, health: { status: "ok", message: null } },
      { health: { status: "degraded", message: "Neo4j is slow" } },
      { health: { status: "error", message: "Argos is gone" } },
      { health: { status: "error", message: "The agent did not answer within 0.5 s." } },
    ]);
  const page = await running.page();
  for (const [agent, value] of [
    ["harper", 1],
    ["mentor", 0.5],
    ["argos", 0],
    ["mute", 0],
  ])
    expect(page).toContain(`daedalus_agent_health{instance="Kottos",agent="${agent}"} ${value}\n`);
  const picker = await running.ask<{ agents: AgentView[] }>("GET", "/workspaces/ws_a/agents");
  expect(picker.body.agents[1]!.health).toMatchObject({ status: "degraded" });
  // No progress is asked for, and nothing but the question goes out.
  for (const call of host.agents.get("harper")!.calls) {
    expect(call.tool).toBe("get_health");
    expect(call.meta?.["progressToken"]).toBeUndefined();
    expect(call.headers.authorization).toBeUndefined();
  }
});

it("P089: a host that is killed is in error, and well again when it is back", async () => {
  const host = await startHost(["harper"]);
  const running = await setupConsole(OPTIONS);
  await attachHost(running, host);
  await expect.poll(() => statusOf(running)).toEqual(["ok"]);
  await host.stop();
  const killed = performance.now();
  await expect.poll(() => statusOf(running)).toEqual(["error"]);
  expect(performance.now() - killed).toBeLessThan(PATIENCE * 4_000);
  expect(await running.page()).toContain(
    'daedalus_agent_health{instance="Kottos",agent="harper"} 0\n',
  );
  await host.start();
  const back = performance.now();
  await expect.poll(() => statusOf(running)).toEqual(["ok"]);
  expect(performance.now() - back).toBeLessThan(PATIENCE * 4_000);
});

it("P084, P088: an agent that is detached is asked no more, and its gauge is gone", async () => {
  const host = await startHost(["harper"]);
  const running = await setupConsole(OPTIONS);
  const { id } = await attachHost(running, host);
  await expect.poll(() => statusOf(running)).toEqual(["ok"]);
  await running.ask("DELETE", `/workspaces/ws_a/teams/${id}`);
  expect(await statusOf(running)).toEqual([]);
  expect(await running.page()).not.toContain("daedalus_agent_health{");
  expect((await running.instance(id)).agents[0]!.health).toBeNull();
});

it("an agent whose address is not allowed any more, or that has no health, is in error", async () => {
  const host = await startHost(["harper", "mentor"]);
  host.agents.get("mentor")!.health = { status: "fine" };
  const running = await setupConsole(OPTIONS);
  await attachHost(running, host);
  await expect
    .poll(async () => (await agentsOf(running))[1]?.health)
    .toMatchObject({
      status: "error",
      message: "get_health does not answer with a status.",
    });
  await running.close();
  const strict = await setupConsole({ ...OPTIONS, allowedAddresses: [] }, running);
  const before = host.agents.get("harper")!.calls.length;
  await expect.poll(() => statusOf(strict)).toEqual(["error", "error"]);
  expect(host.agents.get("harper")!.calls).toHaveLength(before);
});

it("P085: the interval is that of the option, else of the variable, else a minute", () => {
  const of = (options: object, environment: NodeJS.ProcessEnv): number =>
    healthIntervalOf(optionsSchema.parse(options), environment);
  const variable = { DAEDALUS_MCP_HEALTH_INTERVAL: "20" };
  expect(of({}, {})).toBe(60_000);
  expect(of({}, variable)).toBe(20_000);
  expect(of({ healthInterval: "5s" }, variable)).toBe(5_000);
  expect(of({ healthInterval: 0 }, {})).toBe(1_000);
  expect(() => of({}, { DAEDALUS_MCP_HEALTH_INTERVAL: "soon" })).toThrow("must be a duration");
});

it("what is beyond the limits is refused or left out, and counted", async () => {
  const host = await startHost(["harper", "mentor", "argos"]);
  const running = await setupConsole({ ...OPTIONS, maxConnectedAgents: 2, maxAttachments: 1 });
  const { id } = await attachHost(running, host);
  expect(await agentsOf(running)).toHaveLength(2);
  expect(await running.metric("console_agents_left_out")).toBe(1);
  await running.ask("POST", "/workspaces", { id: "ws_b", name: "B" });
  for (const [method, path, body] of [
    ["PUT", `/workspaces/ws_b/teams/${id}`, undefined],
    ["PUT", "/workspaces/ws_b/teams", { teams: [id] }],
  ] as const)
    expect((await running.ask(method, path, body)).status).toBe(429);
  expect((await running.ask("GET", "/workspaces/ws_b")).body).toMatchObject({ teams: [] });
});

it("200 agents of which 20 hang: a round takes less than a minute, 32 are asked at a time, and the loop stays free", async () => {
  const names = Array.from({ length: 200 }, (_, at) => `agent-${at}`);
  const host = await startHost(names);
  for (const name of names.slice(0, 20)) host.agents.get(name)!.health = "hang";
  const healthTimeout = `${PATIENCE * 5}s`;
  const running = await setupConsole({ ...OPTIONS, healthInterval: "60s", healthTimeout });
  const begun = performance.now();
  const turns = await measureTurns(async () => {
    await attachHost(running, host);
    await expect
      .poll(() => statusOf(running), { timeout: 60_000, interval: 250 })
      .not.toContain(undefined);
  });
  expect(performance.now() - begun).toBeLessThan(60_000);
  expect(turns[Math.floor(0.99 * turns.length)]).toBeLessThan(PATIENCE * 50);
  const status = await statusOf(running);
  expect(status.filter((each) => each === "error")).toHaveLength(20);
  expect(status.filter((each) => each === "ok")).toHaveLength(180);
  const values = [...(await running.page()).matchAll(/^daedalus_agent_health\{.*\} (\S+)$/gm)];
  expect(values.filter(([, value]) => value === "0")).toHaveLength(20);
  expect(values.filter(([, value]) => value === "1")).toHaveLength(180);
  expect(host.mostAtOnce()).toBeGreaterThan(1);
  expect(host.mostAtOnce()).toBeLessThanOrEqual(32);
});
