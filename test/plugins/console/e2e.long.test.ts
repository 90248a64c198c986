import { expect, it } from "vitest";
import { fakeUpstream, freePort } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import type { ModelServerOptions } from "../../fixtures/model/types.ts";
import { openPage } from "../ui/kit.ts";
import { startHostProcess, type HostProcess } from "./host-process.ts";
import {
  type AgentView,
  type InstanceView,
  setupConsole,
  type TestConsole,
  withIssuer,
} from "./kit.ts";
import { startIssuer } from "./scripted-issuer.ts";

const INTERVAL_MS = 1_000;
/** What the badge may be late, beyond the interval. */
const LATE_MS = PATIENCE * 3_000;

const PAGES = {
  plugins: [sqlite, ui, admin, [gating, { state: false }], events],
} satisfies Parameters<typeof setupConsole>[1];

/** Each agent calls the one tool that it has, and then says what came of it. */
const script: NonNullable<ModelServerOptions["script"]> = ({ tools, turn, results }) =>
  turn === 0
    ? {
        calls: [
          {
            name: tools[0]!.name,
            args: tools[0]!.required.includes("message") ? { message: "tea" } : {},
          },
        ],
      }
    : { text: `found ${results.join()}` };

/** A gateway of its own with a team: harper asks research, research asks a server. */
function startTeam(port: number, shop: string): Promise<HostProcess> {
  return startHostProcess({
    port,
    agents: {
      harper: { title: "Harper", instructions: "Ask.", agents: ["research"] },
      research: { title: "Research", instructions: "Look.", servers: ["shop"] },
    },
    servers: { shop: { url: shop } },
    script,
  });
}

async function send({ url }: TestConsole, agent: string) {
  const response = await fetch(`${url}/api/v1/workspaces/ws_a/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent, message: "what is new?" }),
  });
  const text = await response.text();
  const said = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, event, data]) => ({
    event: event!,
    data: JSON.parse(data!) as Record<string, unknown>,
  }));
  return { status: response.status, said };
}

async function pick({ ask }: TestConsole): Promise<readonly AgentView[]> {
  return (await ask<{ agents: AgentView[] }>("GET", "/workspaces/ws_a/agents")).body.agents;
}

/** Within the interval, and what it may be late, the picker and the gauge of both agents say the same. */
async function reaches(
  running: TestConsole,
  status: string,
  value: number,
  begun = performance.now(),
): Promise<void> {
  await expect
    .poll(async () => (await pick(running)).map((each) => each.health?.status), { timeout: 20_000 })
    .toEqual([status, status]);
  expect(performance.now() - begun).toBeLessThan(INTERVAL_MS + LATE_MS);
  const gauges = [...(await running.page()).matchAll(/^daedalus_agent_health\{.*\} (\S+)$/gm)];
  expect(gauges.map(([, each]) => Number(each))).toEqual([value, value]);
}

it("P081, P082, P083, P084, P089, P090, T139, T140, T151, T152: a real host is registered, attached, talked to, lost and found again, detached and deleted", async () => {
  const shop = await fakeUpstream({ lookup: () => "green tea" });
  const issuer = await startIssuer();
  const port = await freePort();
  const team = await startTeam(port, shop.url);
  const options = withIssuer(issuer, { healthInterval: INTERVAL_MS / 1_000 });
  let running = await setupConsole(options, PAGES);

  const { body: instance } = await running.ask<InstanceView>("POST", "/pallas", {
    registry_url: team.url,
    name: "Kottos",
  });
  expect(instance.agents.map(({ title }) => title)).toEqual(["Harper", "Research"]);
  await running.ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  expect(await pick(running)).toEqual([]);
  await running.ask("PUT", "/workspaces/ws_a/teams", { teams: [instance.id] });
  expect((await pick(running)).map(({ label }) => label)).toEqual([
    "Kottos › Harper",
    "Kottos › Research",
  ]);
  await reaches(running, "ok", 1);

  const [harper] = await pick(running);
  const { said } = await send(running, harper!.id);
  const reports = said
    .filter(({ event }) => event === "progress")
    .map(({ data }) => data["message"]);
  expect(reports).toEqual(
    expect.arrayContaining([expect.stringMatching(/shop.*lookup.*: started$/)]),
  );
  expect(reports).toEqual(
    expect.arrayContaining([expect.stringMatching(/research.*: completed$/)]),
  );
  expect(JSON.stringify(said.at(-1))).toContain("green tea");
  expect(said.at(-1)!.event).toBe("result");

  const { page } = await openPage(`${running.url}/ui/panels/console/chat`);
  const badge = page.locator(".bar .badge");
  const message = page.getByLabel("Message", { exact: true });
  await expect.poll(() => badge.textContent()).toBe("ok");
  const killed = performance.now();
  await team.kill();
  await reaches(running, "error", 0, killed);
  await expect.poll(() => badge.textContent()).toBe("error");
  expect(performance.now() - killed).toBeLessThan(INTERVAL_MS + LATE_MS);
  expect(await message.isDisabled()).toBe(true);
  expect(await send(running, harper!.id)).toMatchObject({ status: 503 });
  await team.start();
  const back = performance.now();
  await reaches(running, "ok", 1, back);
  await expect.poll(() => badge.textContent()).toBe("ok");
  expect(performance.now() - back).toBeLessThan(INTERVAL_MS + LATE_MS);
  expect(await message.isEnabled()).toBe(true);
  await page.close();

  await running.close();
  running = await setupConsole(options, { ...PAGES, folder: running.folder });
  await reaches(running, "ok", 1);
  expect((await send(running, harper!.id)).said.at(-1)!.event).toBe("result");

  const { jti } = issuer.teams.get(instance.id)!;
  expect((await running.ask("POST", `/pallas/${instance.id}/rotate`)).status).toBe(200);
  expect(issuer.teams.get(instance.id)!.jti).not.toBe(jti);
  expect((await running.instance(instance.id)).token).toBe("unseen");
  await running.ask("DELETE", `/workspaces/ws_a/teams/${instance.id}`);
  expect(await pick(running)).toEqual([]);
  expect(await send(running, harper!.id)).toMatchObject({ status: 403 });
  expect((await running.ask("DELETE", `/pallas/${instance.id}`)).status).toBe(204);
  expect(await send(running, harper!.id)).toMatchObject({ status: 404 });
  expect(issuer.teams.get(instance.id)!.active).toBe(false);
});
