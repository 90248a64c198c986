import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { copiedBy, openPage, runCopied } from "../ui/kit.ts";
import { startHost } from "./agent-host.ts";
import { type InstanceView, setupConsole, withIssuer } from "./kit.ts";
import { jtiOf, startIssuer } from "./scripted-issuer.ts";

const PARTS = {
  plugins: [sqlite, ui, admin, [gating, { state: false }], events],
  config: { management: { mutations: true } },
} satisfies Parameters<typeof setupConsole>[1];

it("T052, T134, T144: the token of a new instance is shown once: not after a reload, on the way back, in a second tab or when it was closed", async () => {
  const issuer = await startIssuer();
  const running = await setupConsole(withIssuer(issuer), PARTS);
  const { page, complaints } = await openPage(`${running.url}/ui/panels/console/new-instance`);
  await page.getByLabel("name", { exact: false }).last().fill("Kottos");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByText("Instance registered.").waitFor();
  const { body } = await running.ask<{ instances: InstanceView[] }>("GET", "/instances");
  const { id } = body.instances[0]!;

  await page.getByRole("link", { name: "Instances", exact: true }).click();
  await page.getByText("unseen").waitFor();
  await page.getByRole("button", { name: "Show the token" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Show the token" }).click();
  const secret = page.getByRole("region", { name: "Secret" });
  const token = (await secret.textContent())!;
  expect(jtiOf(token)).toBe(issuer.teams.get(id)!.jti);
  const second = await page.context().newPage();
  await second.goto(page.url());
  await second.getByText("shown", { exact: true }).waitFor();
  expect(await second.content()).not.toContain(token);
  expect(await second.getByRole("button", { name: "Show the token" }).count()).toBe(0);

  await page.getByRole("button", { name: "I have copied it" }).click();
  await secret.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(token);
  await page.goto(`${running.url}/ui/panels/console/workspaces`);
  await page.goBack();
  await page.getByText("shown", { exact: true }).waitFor();
  expect(await page.content()).not.toContain(token);
  await page.reload();
  await page.getByText("shown", { exact: true }).waitFor();
  expect(await page.content()).not.toContain(token);
  const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
  expect(kept).not.toContain(token);
  expect(complaints).toEqual([]);
});

it("T139, T140: a token is rotated, and an instance and a workspace are made and deleted on their pages", async () => {
  const issuer = await startIssuer();
  const running = await setupConsole(withIssuer(issuer), PARTS);
  const { id } = await running.register("Kottos");
  const { jti } = issuer.teams.get(id)!;
  const { page, complaints } = await openPage(`${running.url}/ui/panels/console/new-workspace`);
  await page.getByLabel("name", { exact: false }).first().fill("Work");
  await page.getByLabel("id", { exact: false }).last().fill("ws_work");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Workspace created.").waitFor();
  await running.ask("PUT", `/workspaces/ws_work/teams/${id}`);
  await page.getByRole("link", { name: "Workspaces" }).click();
  await page.getByRole("cell", { name: "Kottos" }).waitFor();

  const confirm = async (name: string): Promise<void> => {
    await page.getByRole("button", { name }).click();
    await page.getByRole("dialog").getByRole("button", { name }).click();
  };
  await confirm("Delete");
  await page.getByText("There is no workspace yet.").waitFor();
  await page.getByRole("link", { name: "Instances", exact: true }).click();
  await page.getByText("provisioned").waitFor();
  await confirm("Rotate the token");
  await expect.poll(() => issuer.teams.get(id)!.jti).not.toBe(jti);
  await confirm("Delete");
  await page.getByText("No instance is registered.").waitFor();
  // An answer without a body is no failure.
  expect(await page.locator(".trouble").count()).toBe(0);
  await expect.poll(() => issuer.teams.get(id)!.active).toBe(false);
  expect(complaints).toEqual([]);
});

it("M021, 4: what somebody else changes is on the pages within half a second", async () => {
  const running = await setupConsole({}, PARTS);
  const { page } = await openPage(`${running.url}/ui/panels/console/workspaces`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByText("There is no workspace yet.").waitFor();
  const times: number[] = [];
  for (let round = 0; round < 20; round++) {
    const began = performance.now();
    await running.ask("POST", "/workspaces", { id: `ws_${round}`, name: "Work" });
    await page.getByText(`ws_${round}`, { exact: true }).waitFor();
    times.push(performance.now() - began);
  }
  const p95 = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1]!;
  expect(p95).toBeLessThanOrEqual(PATIENCE * 500);
});

it("M021: a gateway without events is asked every 8 s, by the page Chat too", async () => {
  const running = await setupConsole({}, PARTS);
  const { page } = await openPage(`${running.url}/ui/panels/console/chat`);
  await page.route("**/_meta/events*", (route) => route.fulfill({ status: 404, body: "" }));
  await page.reload();
  await page.getByText("polling 8 s").waitFor();
  await page.getByText("There is no workspace yet.").waitFor();
  await running.ask("POST", "/workspaces", { id: "ws_a", name: "Work" });
  await page.getByText("No teams attached to this workspace.").waitFor();
  expect(await page.getByText("There is no workspace yet.").count()).toBe(0);
});

it("M052: in a read-only gateway Save says why, asks nothing, and a message can be sent", async () => {
  const host = await startHost(["harper"]);
  const options = { allowedAddresses: ["127.0.0.1"], healthInterval: "1s" };
  const before = await setupConsole(options, PARTS);
  await before.ask("POST", "/workspaces", { id: "ws_a", name: "Work" });
  const { body } = await before.ask<InstanceView>("POST", "/pallas", { registry_url: host.url });
  await before.ask("PUT", `/workspaces/ws_a/teams/${body.id}`);
  await before.close();
  const config = { management: { mutations: true, readOnly: true } };
  const running = await setupConsole(options, { ...PARTS, folder: before.folder, config });
  const { page, requests } = await openPage(`${running.url}/ui/panels/console/chat?settings=1`);
  const save = page.getByRole("button", { name: "Save" });
  await save.waitFor();
  expect(await save.getAttribute("title")).toContain("read-only");
  await save.click({ force: true });
  await save.press("Enter");
  expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
  await expect.poll(() => page.getByLabel("Message", { exact: true }).isEnabled()).toBe(true);
  await page.getByLabel("Message", { exact: true }).fill("hello");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("heard hello").waitFor();
});

it("what the pages of the console do is done by the commands that they copy", async () => {
  const host = await startHost(["harper"]);
  const running = await setupConsole({ allowedAddresses: ["127.0.0.1"] }, PARTS);
  const { page, requests } = await openPage(`${running.url}/ui/panels/console/new-instance`);
  const curl = page.getByRole("button", { name: "Copy as curl" });
  const dialog = page.getByRole("dialog");
  const run = async (button: Locator): Promise<unknown> => {
    const answer = await runCopied(await copiedBy(button));
    return answer === "" ? undefined : JSON.parse(answer);
  };
  await page.getByLabel("Registry").fill(host.url);
  await page.getByLabel("Name").fill("it's Kottos");
  const { id } = (await run(curl)) as InstanceView;
  await page.getByRole("link", { name: "New workspace" }).click();
  await page.getByLabel("Name").fill("Work");
  await page.getByLabel("Id").fill("ws_work");
  expect(await run(curl)).toMatchObject({ id: "ws_work", name: "Work" });

  await page.getByRole("link", { name: "Chat" }).click();
  await page.getByRole("group").getByText("Workspace settings").click();
  await page.getByRole("checkbox", { name: "it's Kottos" }).check();
  await run(curl.last());
  const { body } = await running.ask<{ workspaces: { teams: string[] }[] }>("GET", "/workspaces");
  expect(body.workspaces.map(({ teams }) => teams)).toEqual([[id]]);

  await page.getByRole("link", { name: "Instances", exact: true }).click();
  await page.getByRole("button", { name: "As curl" }).click();
  expect(await run(dialog.getByRole("button", { name: "Copy" }))).toMatchObject({ id });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Delete" }).click();
  expect(await run(dialog.getByRole("button", { name: "Copy as curl" }))).toBe(undefined);
  const left = await running.ask<{ instances: unknown[] }>("GET", "/instances");
  expect(left.body.instances).toEqual([]);
  expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
});
