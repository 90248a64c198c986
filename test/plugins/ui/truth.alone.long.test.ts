import { expect, it } from "vitest";
import { deferred } from "../../kit/deferred.ts";
import { openPage } from "./kit.ts";
import { startShop } from "./pages.ts";

/** Every kind of switch: its page, what it stands in, and what it switches. */
const SWITCHES = [
  ["server", "/servers", 'tr[data-server="shop"]', "servers/shop"],
  ["tool", "/servers/shop", 'li[data-tool="price"]', "servers/shop/tools/price"],
] as const;

it.each(SWITCHES)(
  "M053, 5: the switch of a %s never shows what the gateway did not confirm",
  async (_, view, place, path) => {
    const { url } = await startShop();
    const { page } = await openPage(`${url}/ui${view}`);
    const address = `**/_meta/${path}/disable`;
    const toggle = page.locator(place).getByRole("switch");
    await toggle.waitFor();
    const state = (): Promise<string | null> => toggle.getAttribute("aria-checked");

    // It hangs: busy, not moved, and a second click is no second request.
    let asked = 0;
    const { promise: held, resolve: release } = deferred();
    await page.route(address, async (route) => {
      asked++;
      await held;
      await route.abort();
    });
    await toggle.click();
    await expect.poll(() => toggle.getAttribute("aria-busy")).toBe("true");
    await toggle.click();
    expect([await state(), asked]).toEqual(["true", 1]);
    release();
    // It fails: no answer at all.
    await page.getByText("The gateway does not answer.").waitFor();
    await expect.poll(() => toggle.getAttribute("aria-busy")).toBe(null);
    expect(await state()).toBe("true");
    await page.unroute(address);

    // It is refused, in the words of the gateway, with the code and the next step.
    const error = { code: "io_error", message: "It cannot be written.", hint: "Make room." };
    await page.route(address, (route) =>
      route.fulfill({ status: 500, json: { ok: false, error } }),
    );
    await toggle.click();
    const trouble = page.getByRole("alert").filter({ hasText: "It cannot be written." });
    await trouble.waitFor();
    expect(await trouble.innerText()).toMatch(/Make room\.[^]*io_error[^]*Copy details/);
    expect(await state()).toBe("true");
    await page.unroute(address);

    // It is confirmed, and somebody else's change is shown as well.
    await toggle.click();
    await expect.poll(state).toBe("false");
    await fetch(`${url}/_meta/${path}/enable`, { method: "POST" });
    await expect.poll(state).toBe("true");
  },
);
