import { expect, it } from "vitest";
import { PATIENCE } from "../../fixtures/ci.ts";
import { openPage } from "./kit.ts";
import { startShop } from "./pages.ts";
import { startProxy } from "./reverse-proxy.ts";

/** Few in the suite, 50 in `npm run campaign -- cuts`. */
const CUTS = Number(process.env["UI_CUTS"] ?? 4);
/** Within this the page is as the gateway says, once the stream can be had again. */
const EQUAL_MS = PATIENCE * 3_000;

it(
  `M021, 4: the stream is cut ${CUTS} times, and each time the page is as the gateway says within 3 s`,
  { timeout: PATIENCE * (60_000 + CUTS * 10_000) },
  async () => {
    const { url } = await startShop();
    const way = await startProxy(url);
    const { page } = await openPage(`${way.url}/ui/servers`);
    const live = page.getByText("live", { exact: true });
    await live.waitFor();
    const toggle = page.locator('tr[data-server="shop"]').getByRole("switch");
    const times: number[] = [];
    const stale: number[] = [];
    for (let cut = 0; cut < CUTS; cut++) {
      const isOn = cut % 2 === 1;
      way.cut();
      await page.getByText(/reconnecting|polling/).waitFor();
      // While nobody tells the page of it.
      await fetch(`${url}/_meta/servers/shop/${isOn ? "enable" : "disable"}`, { method: "POST" });
      await live.waitFor();
      const returned = performance.now();
      await toggle.and(page.locator(`[aria-checked="${isOn}"]`)).waitFor();
      times.push(performance.now() - returned);
      const list = (await (await fetch(`${url}/_meta/servers`)).json()) as {
        servers: readonly { readonly name: string; readonly enabled: boolean }[];
      };
      const shown = await page.locator("tr[data-server]").getByRole("switch").all();
      for (const each of shown) {
        const name = (await each.getAttribute("aria-label"))!;
        const isChecked = (await each.getAttribute("aria-checked")) === "true";
        if (isChecked !== list.servers.find((server) => server.name === name)?.enabled)
          stale.push(cut);
      }
    }
    expect(Math.max(...times)).toBeLessThanOrEqual(EQUAL_MS);
    expect(stale).toEqual([]);
  },
);
