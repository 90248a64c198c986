import { expect, it } from "vitest";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { openPage } from "../ui/kit.ts";
import { startHost, type Tell } from "./agent-host.ts";
import { type InstanceView, setupConsole, QUICK_HEALTH } from "./kit.ts";

const EMPTY = "No teams attached to this workspace. Go to workspace settings → Attached Teams.";

async function openChat() {
  const host = await startHost(["harper", "mentor"]);
  const running = await setupConsole(QUICK_HEALTH, {
    plugins: [sqlite, ui, admin, [gating, { state: false }], events],
    config: { management: { mutations: true } },
  });
  await running.ask<InstanceView>("POST", "/pallas", { registry_url: host.url, name: "Kottos" });
  await running.ask("POST", "/workspaces", { id: "ws_a", name: "Work" });
  const { page, complaints } = await openPage(`${running.url}/ui/panels/console/chat`);
  return { host, running, page, complaints };
}

it("P091, P111, P112, P113, P114, P115, T010, T138, T146, T149, T150, T153: teams are attached, an agent is picked and talked to on one page", async () => {
  const { host, page, complaints } = await openChat();
  const harper = host.agents.get("harper")!;
  let finish = (_text: string): void => {};
  let tell: Tell = () => {};
  harper.run = (_, teller) => {
    tell = teller;
    return new Promise((resolve) => (finish = resolve));
  };
  await page.getByText(EMPTY).waitFor();
  expect(await page.getByLabel("Message", { exact: true }).isDisabled()).toBe(true);
  await page.getByRole("link", { name: "workspace settings → Attached Teams." }).click();
  expect(await page.getByRole("checkbox", { name: "Kottos" }).isChecked()).toBe(false);
  await page.getByRole("checkbox", { name: "Kottos" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  const agent = page.getByLabel("Agent", { exact: true });
  await agent.locator("option").nth(1).waitFor({ state: "attached" });
  expect(await agent.locator("option").allTextContents()).toEqual([
    "Kottos › harper agent",
    "Kottos › mentor agent",
  ]);
  expect(await page.getByText(EMPTY).count()).toBe(0);

  await page.getByLabel("Message", { exact: true }).fill("<b>hello</b>");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("You: <b>hello</b>").waitFor();
  const working = page.getByRole("progressbar", { name: "The agent is working" });
  await working.waitFor();
  const lines = page.locator(".lines > div");
  await expect.poll(() => harper.calls.some(({ tool }) => tool === "harper")).toBe(true);
  tell({ progress: 1, message: "harper step 1 (llm)" });
  await page.getByText("harper step 1 (llm)").waitFor();
  tell({ progress: 2, message: "harper step 2 (tool)" });
  tell({ progress: 0, message: "search/find: started" });
  tell({ progress: 0, message: "graph/ask: started" });
  await page.getByText("graph/ask: started").waitFor();
  // Newest in place of the last one, and a line for each part.
  expect(await lines.allTextContents()).toEqual([
    "harper step 2 (tool)",
    "search/find: started",
    "graph/ask: started",
  ]);
  expect(await working.getAttribute("value")).toBeNull();
  tell({ progress: 1, total: 1, message: "search/find: completed" });
  await page.getByText("search/find").waitFor({ state: "detached" });
  expect(await lines.allTextContents()).toEqual(["harper step 2 (tool)", "graph/ask: started"]);
  expect(await working.isVisible()).toBe(true);
  finish("<i>done</i>");
  await page.getByText("harper agent: <i>done</i>").waitFor();
  expect(await lines.count()).toBe(0);
  expect(await working.isVisible()).toBe(false);
  expect(complaints).toEqual([]);
});

it("P054, P055, P056, P091, P092: the health of the agent is a badge and a banner, and error stops sending", async () => {
  const { host, running, page } = await openChat();
  const { body } = await running.ask<{ instances: InstanceView[] }>("GET", "/instances");
  await running.ask("PUT", `/workspaces/ws_a/teams/${body.instances[0]!.id}`);
  const message = page.getByLabel("Message", { exact: true });
  const badge = page.locator(".bar .badge");
  await expect.poll(() => badge.textContent()).toBe("ok");
  expect(await message.isEnabled()).toBe(true);
  host.agents.get("harper")!.health = { status: "degraded", message: "Neo4j is slow" };
  await page.getByText("degraded: Neo4j is slow").waitFor();
  expect(await badge.getAttribute("title")).toBe("Neo4j is slow");
  expect(await message.isEnabled()).toBe(true);
  host.agents.get("harper")!.health = { status: "error", message: "Argos is gone" };
  await page.getByText("error: Argos is gone").waitFor();
  expect(await message.isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  // Another agent of the workspace can be talked to.
  await page.getByLabel("Agent", { exact: true }).selectOption("Kottos › mentor agent");
  await message.fill("hello");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("mentor agent: heard hello").waitFor();
});

it("Cancel ends the call at the agent", async () => {
  const { host, running, page } = await openChat();
  const { body } = await running.ask<{ instances: InstanceView[] }>("GET", "/instances");
  await running.ask("PUT", `/workspaces/ws_a/teams/${body.instances[0]!.id}`);
  const harper = host.agents.get("harper")!;
  harper.run = () => new Promise(() => {});
  const message = page.getByLabel("Message", { exact: true });
  await expect.poll(() => message.isEnabled()).toBe(true);
  await message.fill("hello");
  await page.getByRole("button", { name: "Send" }).click();
  const turns = (): readonly unknown[] =>
    harper.calls.flatMap(({ tool, id }) => (tool === "harper" ? [id] : []));
  await expect.poll(turns).toHaveLength(1);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("harper agent: Cancelled.").waitFor();
  // On a busy machine a question about health may be given up, too.
  const cancelled = (): readonly unknown[] => harper.cancelled.filter((id) => turns().includes(id));
  await expect.poll(cancelled).toEqual(turns());
});
