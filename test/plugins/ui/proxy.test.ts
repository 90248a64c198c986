import { expect, it } from "vitest";
import { openPage } from "./kit.ts";
import { startShop } from "./pages.ts";
import { startProxy } from "./reverse-proxy.ts";

it("16: behind a path of a proxy every link, request and stream works", async () => {
  const { url } = await startShop();
  const { url: outside } = await startProxy(url, "/tools/gateway");
  const { page, complaints, requests } = await openPage(`${outside}/ui/servers/shop`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Servers", exact: true }).first().click();
  await page.locator('tr[data-server="shop"]').getByRole("switch").click();
  await page.locator('tr[data-server="shop"]').getByText("switched off").waitFor();
  expect(new URL(page.url()).pathname).toBe("/tools/gateway/ui/servers");
  await page.reload();
  await page.locator('tr[data-server="shop"]').waitFor();
  expect(requests.filter((one) => !one.includes(" /tools/gateway/"))).toEqual([]);
  expect(complaints).toEqual([]);
});
