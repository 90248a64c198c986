import { expect, it } from "vitest";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { openPage } from "../ui/kit.ts";
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
  await page.getByText("Register: done.").waitFor();
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
  await page.getByText("Create: done.").waitFor();
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
