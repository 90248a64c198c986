import { expect, it } from "vitest";
import events from "../../../plugins/events/index.ts";
import postgres from "../../../plugins/postgres/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { until } from "../../kit/until.ts";
import { readSse, type Reader } from "../events/readers.ts";
import { freshSchema, startServer } from "../postgres/kit.ts";
import { startHost } from "./agent-host.ts";
import { type InstanceView, setupConsole, QUICK_HEALTH } from "./kit.ts";

/** How often a part was told of. */
const toldOf = (reader: Reader, part: string): number =>
  reader.told("console").filter((data) => data["part"] === part).length;

it("M021: each change of a console is an event: instances, workspaces and how its agents are", async () => {
  const host = await startHost(["harper"]);
  const running = await setupConsole(QUICK_HEALTH, { plugins: [sqlite, events] });
  const reader = await readSse(running.url, { query: "kinds=console" });
  await reader.find("hello");
  const { body } = await running.ask<InstanceView>("POST", "/pallas", { registry_url: host.url });
  await until(() => toldOf(reader, "instances") > 0);
  expect(toldOf(reader, "workspaces")).toBe(0);
  await running.ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  await until(() => toldOf(reader, "workspaces") > 0);
  expect(toldOf(reader, "agents")).toBe(0);
  await running.ask("PUT", `/workspaces/ws_a/teams/${body.id}`);
  await until(() => toldOf(reader, "agents") > 0);
  const before = toldOf(reader, "agents");
  host.agents.get("harper")!.health = { status: "degraded", message: "slow" };
  await until(() => toldOf(reader, "agents") > before);
});

it("a storm of changes is told four times a second, and the last one is told", async () => {
  const running = await setupConsole(QUICK_HEALTH, { plugins: [sqlite, events] });
  const reader = await readSse(running.url, { query: "kinds=console" });
  await reader.find("hello");
  const begun = performance.now();
  for (let at = 0; at < 100; at++)
    await running.ask("POST", "/workspaces", { id: `ws_${at}`, name: "A" });
  const took = performance.now() - begun;
  const during = toldOf(reader, "workspaces");
  await until(() => toldOf(reader, "workspaces") > during);
  expect(toldOf(reader, "workspaces")).toBeLessThanOrEqual(Math.ceil(took / 250) + 2);
});

it("what one gateway of a store changes is an event at the others", async () => {
  const server = await startServer();
  const setup = {
    plugins: [[postgres, { schema: freshSchema() }] as const, events],
    config: { store: server.url },
  };
  const [first, second] = [
    await setupConsole(QUICK_HEALTH, setup),
    await setupConsole(QUICK_HEALTH, setup),
  ];
  const reader = await readSse(second.url, { query: "kinds=console" });
  await reader.find("hello");
  await first.ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  await until(() => toldOf(reader, "workspaces") > 0);
  expect(toldOf(reader, "instances")).toBe(0);
});
