import { expect, it } from "vitest";
import { openPage } from "./kit.ts";
import { startShop } from "./pages.ts";

const SWITCH = "**/_meta/servers/shop/disable";

it("M053, 5: a switch never shows what the gateway did not confirm", async () => {
  const { url } = await startShop();
  const { page } = await openPage(`${url}/ui/servers`);
  const toggle = page.locator('tr[data-server="shop"]').getByRole("switch");
  await toggle.waitFor();
  const state = (): Promise<string | null> => toggle.getAttribute("aria-checked");

  // It hangs: busy, not moved, and a second click is no second request.
  let release = (): void => {};
  let asked = 0;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(SWITCH, async (route) => {
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
  await page.unroute(SWITCH);

  // It is refused, in the words of the gateway, with the code and the next step.
  const error = { code: "io_error", message: "It cannot be written.", hint: "Make room." };
  await page.route(SWITCH, (route) => route.fulfill({ status: 500, json: { ok: false, error } }));
  await toggle.click();
  const trouble = page.getByRole("alert").filter({ hasText: "It cannot be written." });
  await trouble.waitFor();
  expect(await trouble.innerText()).toMatch(/Make room\.[^]*io_error[^]*Copy details/);
  expect(await state()).toBe("true");
  await page.unroute(SWITCH);

  // It is confirmed, and somebody else's change is shown as well.
  await toggle.click();
  await expect.poll(state).toBe("false");
  await fetch(`${url}/_meta/servers/shop/enable`, { method: "POST" });
  await expect.poll(state).toBe("true");
});
