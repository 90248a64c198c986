import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { openPage } from "./kit.ts";

const READ = { access: "viewer", mutates: false, management: true } as const;
const CHANGE = { access: "operator", mutates: true, management: true } as const;

/** A module of a panel: it draws, asks the gateway with what it was given, and says when it was taken away. */
const MODULE = `export default async (element, { fetch, notify, signal }) => {
  const { cities } = await (await fetch("_meta/weather")).json();
  const button = element.appendChild(document.createElement("button"));
  button.textContent = "Draw " + Object.keys(cities).length;
  button.addEventListener("click", () => notify("drawn"), { signal });
  return () => document.documentElement.setAttribute("data-undone", "yes");
};`;

async function moduleOf(text: string): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), "panel-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "panel.js");
  await writeFile(file, text);
  return pathToFileURL(file);
}

it("12: described and module panels of a plugin work, and one that throws breaks nothing else", async () => {
  const cities: Record<string, { state: string; degrees: number }> = {
    Oslo: { state: "ok", degrees: 4 },
    "<b>Rome</b>": { state: "failed", degrees: 31 },
  };
  const [draws, throws] = [
    await moduleOf(MODULE),
    await moduleOf("export default () => { throw new Error('no map'); };"),
  ];
  const weather = definePlugin({
    name: "weather",
    setup(gateway) {
      gateway.route("GET", "/_meta/weather", READ, () => ({ ok: true, cities }));
      gateway.route("POST", "/_meta/weather/:city", CHANGE, async (event) => {
        const body = (await event.req.json()) as { degrees: number };
        cities[decodeURIComponent(event.context.params!["city"]!)]!.degrees = body.degrees;
        return { ok: true };
      });
      gateway.panel({
        id: "cities",
        title: "Weather",
        place: "page",
        access: "viewer",
        view: {
          table: {
            from: "GET /_meta/weather",
            rows: "/cities",
            columns: [
              { label: "City", value: "/_key" },
              { label: "State", value: "/state", as: "state" },
              { label: "Degrees", value: "/degrees", as: "number" },
            ],
            actions: [
              {
                label: "Set",
                route: "POST /_meta/weather/:city",
                params: { city: "/_key" },
                input: z.object({ degrees: z.int().min(-90).max(60) }),
                access: "operator",
              },
              {
                label: "Repair",
                route: "POST /_meta/weather/:city",
                params: { city: "/_key" },
                when: { "/state": ["failed"], "/gone": [null] },
                body: { degrees: 20 },
                access: "operator",
              },
            ],
          },
        },
      });
      gateway.panel({
        id: "map",
        title: "Map",
        place: "overview",
        access: "viewer",
        module: draws,
      });
      gateway.panel({
        id: "broken",
        title: "Broken",
        place: "overview",
        access: "viewer",
        module: throws,
      });
    },
  });
  const { url } = await setupGateway({
    client: false,
    plugins: [ui, admin, [gating, { state: false }], events, weather],
    config: { management: { mutations: true } },
  });
  const { page, complaints } = await openPage(`${url}/ui/`);
  await page.getByText("no map").waitFor();
  await page.getByRole("button", { name: "Draw 2" }).click();
  await page.getByText("drawn").waitFor();
  await page.getByRole("link", { name: "Weather" }).click();
  await page.locator("html[data-undone=yes]").waitFor();
  const row = page.getByRole("row").filter({ hasText: "<b>Rome</b>" });
  await row.getByText("failed").waitFor();
  // What is offered for some states only is not there for others.
  expect(await page.getByRole("button", { name: "Repair" }).count()).toBe(1);
  await row.getByRole("button", { name: "Repair" }).waitFor();
  await row.getByRole("button", { name: "Set" }).click();
  await page.getByLabel("degrees").fill("18");
  await page.getByRole("dialog").getByRole("button", { name: "Set" }).click();
  await row.getByText("18").waitFor();
  expect(cities["<b>Rome</b>"]!.degrees).toBe(18);
  expect(complaints).toEqual([]);
});
