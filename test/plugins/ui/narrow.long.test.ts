import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { openPage } from "./kit.ts";
import { openView } from "./looks.ts";
import {
  ACCESS_PAGES,
  ALL_PAGES,
  startDirectory,
  startShop,
  startTeams,
  TEAM_PAGES,
} from "./pages.ts";

const PHONE = { viewport: { width: 390, height: 844 } };

/** What is cut off or has to be pushed sideways: the page itself, and boxes of their own that scroll, in shadow roots too. */
const SIDEWAYS = `(() => {
  const roots = [document];
  const found = [];
  for (const root of roots)
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      const isPage = element === document.documentElement;
      const scrolls = ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
      if ((isPage || scrolls) && element.scrollWidth > element.clientWidth)
        found.push((element.getAttribute("aria-label") ?? element.localName) + ": " + element.scrollWidth + " > " + element.clientWidth);
    }
  return found;
})()`;

/** What stands before the values of a row. */
const LABELS = `[...document.querySelectorAll("tbody td[data-label]")].map((cell) => getComputedStyle(cell, "::before").content)`;

/** What is wider than a telephone, of some pages. */
async function tooWide(page: Page, url: string, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    await openView(page, `${url}/ui${path}`);
    const here = (await page.evaluate(SIDEWAYS)) as string[];
    found.push(...here.map((one) => `${path} ${one}`));
  }
  return found;
}

it("nothing on any page is pushed sideways on a telephone", async () => {
  const { url } = await startShop("", "  payloads: {}\n");
  const { page } = await openPage(`${url}/ui/`, PHONE);
  const paths = [...ALL_PAGES, "/try/shop/price", "/servers?add=1", "/panels/payloads/newest"];
  expect(await tooWide(page, url, paths)).toEqual([]);
});

it(
  "nothing on the pages of the console is pushed sideways on a telephone",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const { url } = await startTeams();
    const { page } = await openPage(`${url}/ui/`, PHONE);
    expect(await tooWide(page, url, TEAM_PAGES)).toEqual([]);
  },
);

it(
  "nothing on the page Access is pushed sideways on a telephone, and a row says what its values are",
  { timeout: PATIENCE * 120_000 },
  async () => {
    const { url, ask, page } = await startDirectory(PHONE);
    await ask("POST", "users", { id: "ada" });
    for (const uid of ["papers", "a-library-with-a-rather-long-name-of-its-own"])
      await ask("POST", "libraries", { uid, owner: "ada", workspace_id: "ws-research" });
    await ask("POST", "tokens", { user: "ada", name: "laptop", libraries: ["papers"] });
    const id = "a3f10000-0000-4000-8000-00000000000a";
    await ask("POST", "teams", { id, name: "Kottos" });
    await ask("POST", "accounts", { name: "console", password: "a password of a console" });
    expect(await tooWide(page, url, ACCESS_PAGES)).toEqual([]);

    await openView(page, `${url}/ui/panels/team-auth/tokens`);
    const labels = (await page.evaluate(LABELS)) as string[];
    expect(labels).toEqual(
      ["Name", "User", "Libraries", "State", "Expires", "Last used"].map((label) => `"${label}"`),
    );
    // What can be done stays within reach, too.
    const button = page.getByRole("button", { name: "Revoke laptop" });
    const { x, width } = (await button.boundingBox())!;
    expect(x + width).toBeLessThanOrEqual(PHONE.viewport.width);
  },
);
