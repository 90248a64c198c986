import { expect, it } from "vitest";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { FULL, openPage, startGateway } from "./kit.ts";
import { startShop } from "./pages.ts";
import { FOCUS, MAX_STEPS, walkerOf } from "./walk.ts";

it("2, 20: a server is added, one of its tools is called, and the server is removed, with the keyboard alone", async () => {
  const shop = await fakeUpstream({
    price: {
      input: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
      run: ({ item }) => `${String(item)}: 3 EUR`,
    },
  });
  const { url, gateway } = await startGateway(
    FULL.replace("admin: {}", `admin: { allowedAddresses: ["127.0.0.1"] }`),
  );
  const { page, complaints } = await openPage(`${url}/ui/`);
  await page.getByText("live", { exact: true }).waitFor();
  const way: string[] = [];
  const walk = walkerOf(page, way);
  const { keyboard } = page;
  await keyboard.press("g");
  await keyboard.press("s");
  await page.getByRole("heading", { name: "Servers" }).waitFor();
  await walk(/Add server/);
  await keyboard.press("Enter");
  // A dialog begins with its first field.
  await expect.poll(() => page.evaluate(FOCUS)).toMatch(/^text Name/);
  await keyboard.type("shop");
  await walk(/^url Address/);
  await keyboard.type(shop.url);
  await walk(/^submit Add$/);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "shop" }).waitFor();
  await expect.poll(() => gateway.servers.get("shop")?.status.state).toBe("ready");

  await page.getByRole("link", { name: "Try price" }).waitFor();
  await walk(/Try price/);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "price" }).waitFor();
  // The new page has the focus, not the link that led there.
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("main");
  await walk(/^textarea item/);
  await keyboard.type("lamp");
  await walk(/^submit Call$/);
  await keyboard.press("Enter");
  await page.getByText("lamp: 3 EUR").waitFor();

  await keyboard.press("g");
  await keyboard.press("s");
  await page.locator('tr[data-server="shop"]').waitFor();
  await walk(/Remove shop/);
  await keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await walk(/^button Remove shop/);
  await keyboard.press("Enter");
  await expect.poll(() => gateway.servers.has("shop")).toBe(false);
  // Every stop has a name.
  expect(way.filter((here) => here.split(" ").length < 2)).toEqual([]);
  expect(complaints).toEqual([]);
});

it("20: a value of the config is changed and applied, with the keyboard alone", async () => {
  const { url, gateway } = await startGateway(
    FULL.replace("admin: {}", "admin: { allowConfigEdits: true }"),
  );
  const { page } = await openPage(`${url}/ui/`);
  await page.getByText("live", { exact: true }).waitFor();
  const way: string[] = [];
  const walk = walkerOf(page, way);
  const { keyboard } = page;
  await keyboard.press("g");
  await keyboard.press("c");
  await page.getByRole("button", { name: "Change name", exact: true }).waitFor();
  await keyboard.press("/");
  await keyboard.type("name");
  await walk(/^button Change name$/);
  await keyboard.press("Enter");
  await page.getByLabel("New value of name").waitFor();
  // The field stands above the list.
  for (let steps = 0; (await page.evaluate(FOCUS)) !== "textarea New value of name"; steps++) {
    expect(steps).toBeLessThan(MAX_STEPS);
    await keyboard.press("Shift+Tab");
  }
  await keyboard.press("Control+A");
  await keyboard.type("by hand");
  await page.getByText("The gateway has checked it.").waitFor();
  await walk(/^button Apply$/);
  await keyboard.press("Enter");
  await expect.poll(() => gateway.config.name).toBe("by hand");
  expect(way.filter((here) => here.split(" ").length < 2)).toEqual([]);
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
  await page.getByRole("dialog").getByText("removed from the config file").waitFor();
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
  await page.getByText("No matching servers.").waitFor();
});
