import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { definePlugin, type Gateway } from "propylon";
import type { HourView } from "propylon/plugins/metrics";
import { expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { until } from "../../kit/until.ts";
import { FULL, openPage, startGateway } from "./kit.ts";
import { problemsInAllLooks } from "./looks.ts";

const TEN_MINUTES = 600_000;

/** A server that is overloaded: some answers say how long to wait, in seconds. */
async function startRefusing(waitNow: () => number | undefined): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    const wait = waitNow();
    response.writeHead(503, wait ? { "retry-after": String(wait) } : {}).end("overloaded");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

interface Row {
  readonly name: string;
  readonly attempts: number;
  readonly downSince: string | null;
  readonly nextRetryAt: string | null;
}

async function rowOf(url: string, name: string): Promise<Row> {
  const { servers } = (await (await fetch(`${url}/_meta/servers`)).json()) as { servers: Row[] };
  return servers.find((row) => row.name === name)!;
}

it("43.8: a server that fails since 10 minutes and 5 attempts says so, with the next try and the reason", async () => {
  // Everything is real but the date: what began ten minutes ago need not be waited for.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - TEN_MINUTES });
  onTestFinished(() => void vi.useRealTimers());
  let gateway: Gateway | undefined;
  const attempts = () => gateway?.servers.get("tickets")?.status.attempts ?? 0;
  const refusing = await startRefusing(() => (attempts() >= 4 ? 900 : undefined));
  const started = await startGateway(
    `${FULL}servers:\n  tickets: { url: "${refusing}", backoff: { initial: 20ms, max: 20m } }\n`,
  );
  ({ gateway } = started);
  const { url } = started;
  const failed = await until(async () => {
    const row = await rowOf(url, "tickets");
    return row.attempts >= 2 && row.downSince !== null && row;
  });
  vi.useRealTimers();
  const row = await until(async () => {
    const now = await rowOf(url, "tickets");
    return now.attempts === 5 && now.nextRetryAt !== null && now;
  });
  expect(row.downSince).toBe(failed.downSince);
  const { page } = await openPage(`${url}/ui/`);
  const entry = page.locator("li", { hasText: "tickets" });
  await entry.getByText("retrying").waitFor();
  const said = await entry.innerText();
  expect(said).toMatch(
    /for 10 min, since (\d+ \w+, )?\d\d:\d\d:\d\d, 5 attempts, next try in 1\d min/,
  );
  expect(said).toContain("503");
  await entry.getByRole("link", { name: "tickets" }).click();
  const facts = page.locator("dl.facts");
  await facts.getByText(/for 10 min, since .*, 5 attempts, next try in/).waitFor();
  expect(await facts.locator("time").first().getAttribute("datetime")).toBe(failed.downSince);
});

const office = definePlugin({
  name: "office",
  setup(gateway) {
    const input = z.object({ wait: z.number().max(1_000).default(0) });
    gateway.tool("slow", {
      description: "Waits.",
      input,
      run: async ({ wait }) => {
        await new Promise((resolve) => setTimeout(resolve, wait));
        return "done";
      },
    });
    gateway.tool("broken", {
      description: "Fails.",
      run: () => {
        throw new Error("The disk is full.");
      },
    });
  },
});

it("43: the overview shows calls per minute, failures and durations as the figures of the gateway have them, and circuits only while they are open", async () => {
  const shop = await fakeUpstream({ price: { description: "A price.", run: () => "3 EUR" } });
  const text = `${FULL.replace("breaker: {}", "breaker: { failures: 2 }")}  office: {}\n  metrics: { cacheTtl: 0 }\nservers:\n  shop: { url: "${shop.url}" }\n`;
  const { url, gateway } = await startGateway(text, [office]);
  await until(() => gateway.servers.get("shop")?.status.state === "ready");
  const call = (server: string, name: string, args = {}) =>
    gateway.call({ server, name, args }).catch(() => undefined);
  for (let count = 0; count < 8; count++) await call("shop", "price");
  await call("office", "slow", { wait: 150 });
  await call("office", "broken");
  const { page, complaints } = await openPage(`${url}/ui/`);
  const chart = (title: string) => page.getByRole("figure", { name: title });
  await chart("Calls per minute").locator("canvas").waitFor();
  const hour = (await (await fetch(`${url}/_meta/metrics/hour`)).json()) as HourView;
  const most = Math.max(...hour.minutes.map(({ calls }) => calls));
  await chart("Calls per minute").getByText(`highest ${most}`).waitFor();
  const failed = hour.minutes.map((each) =>
    each.calls > 0 ? (100 * each.failed) / each.calls : 0,
  );
  const share = Math.round(Math.max(...failed) * 10) / 10;
  await chart("Failed calls").getByText(`highest ${share} %`).waitFor();
  const busiest = page.getByRole("region", { name: "Busiest tools" }).locator("tbody tr");
  expect(await busiest.first().innerText()).toMatch(/shop \/ price\s+8/);
  const slowest = page.getByRole("region", { name: "Slowest tools" }).locator("tbody tr");
  expect(await slowest.first().innerText()).toContain("office / slow");
  await page.getByText("Nothing: every server that is switched on works.").waitFor();
  expect(await page.getByText(/circuit/i).count()).toBe(0);
  expect(await problemsInAllLooks(page, "the overview")).toEqual([]);
  expect(complaints).toEqual([]);

  await shop.stop();
  for (let count = 0; count < 2; count++) await call("shop", "price");
  const entry = page.locator("li", { hasText: "circuit open" });
  await entry.waitFor();
  await entry.getByRole("button", { name: "Close the circuit of shop" }).click();
  await entry.waitFor({ state: "detached" });
});
