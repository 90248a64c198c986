import { expect, it } from "vitest";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { FULL, openPage, startGateway } from "./kit.ts";

it("M020: a server is listed with its state, and its switch does what it says", async () => {
  const shop = await fakeUpstream({ price: () => "3 EUR" });
  const { url, gateway } = await startGateway(`${FULL}servers: { shop: { url: "${shop.url}" } }\n`);
  const { page, complaints } = await openPage(`${url}/ui/servers`);
  const row = page.locator('tr[data-server="shop"]');
  await row.getByText("ready").waitFor();
  const toggle = row.getByRole("switch");
  expect(await toggle.getAttribute("aria-checked")).toBe("true");
  await toggle.click();
  await row.getByText("switched off").waitFor();
  expect(await toggle.getAttribute("aria-checked")).toBe("false");
  const { servers } = (await (await fetch(`${url}/_meta/servers`)).json()) as {
    servers: { enabled: boolean }[];
  };
  expect(servers.map(({ enabled }) => enabled)).toEqual([false]);
  expect(gateway.servers.size).toBe(1);
  expect(complaints).toEqual([]);
});

it("a switch asks again for what it changed, and not for everything on the page", async () => {
  const shop = await fakeUpstream({ price: () => "3 EUR" });
  const { url } = await startGateway(`${FULL}servers: { shop: { url: "${shop.url}" } }\n`);
  const { page, requests } = await openPage(`${url}/ui/servers`);
  const toggle = page.locator('tr[data-server="shop"]').getByRole("switch");
  await toggle.waitFor();
  await expect.poll(() => requests).toContain("GET /_meta/history");
  const [before, began] = [requests.length, performance.now()];
  for (let round = 0; round < 6; round++) {
    await toggle.click();
    await page.getByRole("switch", { name: "shop", checked: round % 2 === 1 }).waitFor();
  }
  const asked = requests.slice(before);
  expect(asked.filter((request) => request === "GET /_meta/servers").length).toBeGreaterThan(5);
  // Calls are asked for every 8 s, no matter what is switched.
  const calls = asked.filter((request) => request === "GET /_meta/history").length;
  expect(calls).toBeLessThanOrEqual(1 + (performance.now() - began) / 8_000);
});

it("M022: a browser that opens an endpoint comes to the pages, whatever path a proxy took off", async () => {
  const { url } = await startGateway(`${FULL}endpoints: { inner: { path: /a/b/mcp } }\n`);
  const open = (path: string): Promise<Response> =>
    fetch(`${url}${path}`, { headers: { accept: "text/html" }, redirect: "manual" });
  for (const path of ["/a/b/mcp", "/"]) {
    const { status, headers } = await open(path);
    expect(status).toBe(302);
    expect(new URL(headers.get("location")!, `${url}${path}`).pathname).toBe("/ui/");
  }
  for (const path of ["/ui", "/ui/", "/ui/servers", "/ui/try/a%2Fb/c"]) {
    const answer = await open(path);
    expect(answer.headers.get("content-security-policy")).toContain("require-trusted-types-for");
    const script = /src="([^"]+\.js)"/.exec(await answer.text())![1]!;
    const asset = await fetch(new URL(script, `${url}${path}`));
    expect(asset.status).toBe(200);
    expect(asset.headers.get("cache-control")).toContain("immutable");
    expect(asset.headers.get("content-encoding")).not.toBe(null);
  }
  expect((await fetch(`${url}/ui/assets/other.js`)).status).toBe(404);
});
