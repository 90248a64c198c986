import { expect, it } from "vitest";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";
import { FULL, openPage, startGateway } from "./kit.ts";

it("7: a call of somebody else is listed while it runs, and can be cancelled", async () => {
  const { promise: cancelled, resolve: ended } = deferred();
  const shop = await fakeUpstream({
    wait: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          ended();
          resolve("cancelled");
        });
      }),
  });
  const { url } = await startGateway(
    `${FULL}  openapi: {}\nservers: { shop: { url: "${shop.url}" } }\n`,
  );
  const { page } = await openPage(`${url}/ui/`);
  const stream = page.waitForRequest(/_meta\/events\?also=.*call_end/);
  await page.goto(`${url}/ui/activity`);
  // The end of a call is told, not found by chance.
  await stream;
  const answer = fetch(`${url}/shop/wait`, { method: "POST" });
  const row = page.getByRole("region", { name: "Calls that run" }).getByRole("row", {
    name: "shop / wait",
  });
  await row.waitFor();
  await row.getByRole("button", { name: "Cancel wait" }).click();
  await cancelled;
  const { status } = await answer;
  expect(status).toBe(499);
  await row.waitFor({ state: "detached" });
  const past = page.getByRole("region", { name: "Calls", exact: true }).getByRole("row", {
    name: "shop / wait",
  });
  await past.getByText("cancelled").waitFor();
});

it("1: the page of a server shows what its child wrote to standard error", async () => {
  const program = `process.stderr.write("no licence found\\n"); process.stdin.resume();`;
  const { url } = await startGateway(
    `${FULL}servers: { broken: { command: node, args: [-e, '${program}'] } }\n`,
  );
  const { page } = await openPage(`${url}/ui/servers/broken`);
  await page.getByRole("link", { name: "Standard error" }).click();
  const shown = page.getByRole("region", { name: "Standard error" });
  await expect.poll(() => shown.innerText()).toContain("no licence found");
});

it("11: a list longer than a screen is drawn to its end, and a new call moves it on without drawing the others again", async () => {
  const shop = await fakeUpstream({ price: () => "3 EUR", stock: () => "7" });
  const { url } = await startGateway(
    `${FULL}  openapi: {}\nservers: { shop: { url: "${shop.url}" } }\n`,
  );
  const call = async (tool: string): Promise<number> =>
    (await fetch(`${url}/shop/${tool}`, { method: "POST" })).status;
  for (let count = 0; count < 60; count++) expect(await call("price")).toBe(200);
  const { page, complaints } = await openPage(`${url}/ui/activity`);
  const names = page
    .getByRole("region", { name: "Calls", exact: true })
    .locator("tbody")
    .getByRole("button");
  await expect.poll(() => names.count()).toBe(60);
  await page.evaluate(`globalThis.drawn = 0;
    for (const row of document.querySelectorAll("main tbody tr"))
      new MutationObserver(({ length }) => (globalThis.drawn += length))
        .observe(row, { subtree: true, childList: true, attributes: true, characterData: true })`);
  expect(await call("stock")).toBe(200);
  await expect.poll(() => names.count()).toBe(61);
  const texts = await names.allInnerTexts();
  expect(texts).toEqual(["shop / stock", ...Array<string>(60).fill("shop / price")]);
  expect(await page.evaluate("globalThis.drawn")).toBe(0);
  expect(complaints).toEqual([]);
});
