import { expect, it } from "vitest";
import { FULL, openPage, startGateway } from "./kit.ts";
import { fakeUpstream } from "../../../core/testing/index.ts";

const PAGES = ["/", "/servers", "/servers/shop", "/activity", "/config"];

it("M052, 10: in a read-only gateway nothing that is clicked changes anything, and each control says why", async () => {
  const shop = await fakeUpstream({ price: () => "3 EUR" });
  const { url } = await startGateway(
    `${FULL.replace("mutations: true", "mutations: true, readOnly: true")}servers: { shop: { url: "${shop.url}" } }\n`,
  );
  const { page, requests } = await openPage(`${url}/ui/`);
  const reasons: (string | null)[] = [];
  for (const path of PAGES) {
    await page.goto(`${url}/ui${path}`);
    await page.locator("h1").waitFor();
    await page.locator('main [aria-busy="true"]').first().waitFor({ state: "detached" });
    await page.locator(".banner").getByText("Read-only.", { exact: true }).waitFor();
    const controls = page.locator('main [aria-disabled="true"]');
    const count = await controls.count();
    for (let index = 0; index < count; index++) {
      const control = controls.nth(index);
      reasons.push(await control.getAttribute("title"));
      await control.click({ force: true });
      await control.press("Enter");
    }
    // Those that are left change the view alone.
    const others = page.locator("main button:not([aria-disabled])");
    for (let index = 0; index < (await others.count()); index++) {
      await others.nth(index).click();
      await page.keyboard.press("Escape");
    }
  }
  expect(reasons.length).toBeGreaterThan(8);
  expect(reasons.filter((reason) => reason === null || reason.length < 20)).toEqual([]);
  expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
});
