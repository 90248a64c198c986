import { expect, it } from "vitest";
import { openPage } from "./kit.ts";
import { ALL_PAGES, startShop } from "./pages.ts";

it("8: words of a server stay words, and the page asks nobody but the gateway", async () => {
  const { url } = await startShop();
  const { page, complaints, requests } = await openPage(`${url}/ui/`);
  for (const path of ALL_PAGES) {
    await page.goto(`${url}/ui${path}`);
    await page.locator("h1").waitFor();
    await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
    expect(await page.title()).not.toBe("owned");
  }
  await page.goto(`${url}/ui/servers/shop`);
  const card = page.locator('li[data-tool="echo"]');
  await expect.poll(() => card.innerText()).toContain("<script>document.title='owned'</script>");
  // What turns text round, and what shows nothing, is shown by its number.
  expect(await card.innerText()).toContain("[U+202E]gnp.[U+200B]");
  await page.goto(`${url}/ui/activity`);
  await page.getByRole("button", { name: "shop / echo" }).click();
  await expect.poll(() => page.locator("dialog").innerText()).toContain("<img src=x onerror");
  expect(complaints).toEqual([]);
  expect(requests.filter((request) => !/^(?:GET|POST) \//.test(request))).toEqual([]);
  expect(requests.length).toBeGreaterThan(20);
});

it("8: the page has no script or style in its text", async () => {
  const { url } = await startShop();
  const text = await (await fetch(`${url}/ui/`)).text();
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/);
});
