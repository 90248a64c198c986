import { readFileSync, writeFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { openPage } from "./kit.ts";
import { startTeams, TEAM_PAGES } from "./pages.ts";
import { PATIENCE } from "../../fixtures/ci.ts";

/** Few in the suite, 2,000 in `npm run campaign -- clicks`. */
const CLICKS = Number(process.env["UI_CLICKS"] ?? 40);
const SEED = Number(process.env["UI_SEED"] ?? Date.now() % 1_000_000);

const PAGES = [
  "/",
  "/servers",
  "/activity",
  "/logs",
  "/config",
  "/clients",
  "/docs",
  ...TEAM_PAGES,
];
const CONTROLS = "a[href], button, input, select, textarea, summary, tr";

/** Requests that are no GET, and change nothing: a message to an agent, and a check of an edit. */
const HARMLESS = [/^POST \/api\/v1\/workspaces\/[^/]+\/chat$/, /^POST \/_meta\/config\/check$/];

/** Numbers from 0 to 1, the same ones for a seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Uses a control in one of the ways there are; one that is gone by then, or covered, is no mistake of the page. */
async function useRandomly(control: Locator, page: Page, random: () => number): Promise<void> {
  const ways = [
    () => control.click({ timeout: 500, force: true }),
    () => control.press("Enter", { timeout: 500 }),
    () => control.press("Space", { timeout: 500 }),
    () => control.fill(String(random()), { timeout: 500 }),
  ];
  await control.or(page.locator("body")).first().isVisible();
  await ways[Math.floor(random() * ways.length)]!().catch(() => {});
}

it(
  `M052, 10: ${CLICKS} random clicks in a read-only gateway (seed ${SEED}): nothing is changed, and nothing goes wrong`,
  { timeout: PATIENCE * (60_000 + CLICKS * 1_000) },
  async () => {
    const { url, file } = await startTeams();
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("mutations: true", "mutations: true, readOnly: true"));
    expect((await fetch(`${url}/_meta/reload`, { method: "POST" })).status).toBe(200);
    const before = await stateOf(url);

    const random = randomFrom(SEED);
    const { page, requests, complaints } = await openPage(`${url}/ui/`);
    // The documentation is on another host, and what was copied or saved is nobody's business here.
    await page.context().route(
      (address) => address.origin !== url,
      (route) => route.abort(),
    );
    for (let click = 0; click < CLICKS; click++) {
      if (click % 15 === 0 || !page.url().startsWith(`${url}/ui/`)) {
        await page.goto(`${url}/ui${PAGES[Math.floor(random() * PAGES.length)]}`);
        await page.locator("h1").first().waitFor();
        await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
      }
      const controls = page.locator(CONTROLS).filter({ visible: true });
      const count = await controls.count();
      if (count > 0) await useRandomly(controls.nth(Math.floor(random() * count)), page, random);
    }
    const changing = requests.filter(
      (request) => !request.startsWith("GET ") && !HARMLESS.some((one) => one.test(request)),
    );
    expect(changing).toEqual([]);
    expect(complaints.filter((complaint) => !complaint.includes("ERR_FAILED"))).toEqual([]);
    // The last click may have led to the documentation, as each before it.
    if (!page.url().startsWith(`${url}/ui/`)) {
      await page.goto(`${url}/ui/`);
      await page.locator("h1").first().waitFor();
    }
    expect(await page.locator(".shell").count()).toBe(1);
    expect(await stateOf(url)).toEqual(before);
  },
);

/** What somebody could have changed. */
async function stateOf(url: string): Promise<unknown[]> {
  const read = async (path: string): Promise<unknown> => (await fetch(`${url}/${path}`)).json();
  const { instances } = (await read("api/v1/instances")) as { instances: { token: string }[] };
  return [instances.map(({ token }) => token), await read("api/v1/workspaces")];
}
