import { expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { openPage } from "./kit.ts";
import { problemsOf } from "./looks.ts";
import { ALL_PAGES, startShop } from "./pages.ts";

const VIEWS = [...ALL_PAGES, "/servers?add=1"];

it("2: axe finds nothing on any page, in any look", { timeout: PATIENCE * 240_000 }, async () => {
  const { url } = await startShop();
  expect(await problemsOf(url, VIEWS)).toEqual([]);
});

it("20: a server is found, switched off and removed with the keyboard alone", async () => {
  const { url, gateway } = await startShop();
  const { page } = await openPage(`${url}/ui/`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.locator('tr[data-server="shop"]').waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("shop");
  await page.locator('tr[data-server="drafts"]').waitFor({ state: "detached" });
  const tabTo = async (name: string): Promise<void> => {
    await expect
      .poll(async () => {
        await page.keyboard.press("Tab");
        return page.evaluate("document.activeElement.getAttribute('aria-label')");
      })
      .toBe(name);
  };
  await tabTo("shop");
  await page.keyboard.press("Space");
  await page.locator('tr[data-server="shop"]').getByText("switched off").waitFor();
  await tabTo("Remove shop");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("taken out of the config file").waitFor();
  // Escape leaves it, and gives the focus back.
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe(
    "Remove shop",
  );
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await expect
    .poll(async () => {
      await page.keyboard.press("Tab");
      return page.evaluate("document.activeElement.textContent");
    })
    .toBe("Remove shop");
  await page.keyboard.press("Enter");
  await expect.poll(() => gateway.servers.has("shop")).toBe(false);
  await page.getByText("No server fits.").waitFor();
});
