import { createServer, request } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { openPage } from "./kit.ts";
import { startShop } from "./pages.ts";

/** A reverse proxy that has the gateway below a path, as nginx does. */
async function startProxy(target: string, prefix: string): Promise<string> {
  const server = createServer((req, res) => {
    if (!req.url?.startsWith(prefix)) return void res.writeHead(404).end();
    const path = req.url.slice(prefix.length);
    const to = request(`${target}${path}`, {
      method: req.method,
      headers: {
        ...req.headers,
        host: new URL(target).host,
        ...(req.headers.origin !== undefined && { origin: target }),
      },
    });
    to.on("response", (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    to.on("error", () => res.destroy());
    res.on("close", () => to.destroy());
    req.pipe(to);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`;
}

it("16: behind a path of a proxy every link, request and stream works", async () => {
  const { url } = await startShop();
  const outside = await startProxy(url, "/tools/gateway");
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
