import { configSchema, createLogger, definePlugin } from "propylon";
import { expect, it } from "vitest";
import { FULL, openPage, startGateway } from "./kit.ts";
import { problemsInAllLooks } from "./looks.ts";
import { HOSTILE } from "./pages.ts";

type Write = (level: "info" | "warn" | "error", facts: object, message: string) => void;

/** A gateway whose log a test writes to. */
async function startLogged(): Promise<{ readonly url: string; readonly write: Write }> {
  const log = await createLogger(configSchema.parse({}).log, { write: () => {} });
  let write!: Write;
  const writer = definePlugin({
    name: "writer",
    setup(gateway) {
      write = (level, facts, message) => gateway.log[level](facts, message);
    },
  });
  const { url } = await startGateway(`${FULL}  writer: {}\n`, [writer], { log });
  return { url, write: (...line) => write(...line) };
}

const FAILURE = {
  server: "shop",
  tool: "price",
  principal: "key:ci",
  err: new Error("The disk is full."),
};

it("43: the log shows the failure that happened before the page was opened, by columns, and its details by a key", async () => {
  const { url, write } = await startLogged();
  write("info", { server: "house" }, HOSTILE);
  write("error", FAILURE, "a tool failed");
  const { page, complaints } = await openPage(`${url}/ui/logs`);
  const row = page.locator("tr.line", { hasText: "a tool failed" });
  await row.waitFor();
  const cells = await row.locator("td").allInnerTexts();
  expect(cells[0]).toMatch(/\d\d \w+ \d\d:\d\d:\d\d\.\d{3}/);
  expect(cells.slice(1).map((text) => text.trim())).toEqual([
    "error",
    "writer: a tool failed The disk is full.",
    "shop",
    "price",
    "key:ci",
  ]);
  const titles = await page.locator(".log thead th").allInnerTexts();
  expect(titles).toEqual(["Time", "Level", "What", "Server", "Tool", "Who"]);

  // One line is on the way of the Tab key; the arrows lead to the others.
  const fold = row.getByRole("button", { name: "Details" });
  const stops = page.locator('tr.line button[tabindex="0"]');
  expect(await stops.count()).toBe(1);
  await stops.focus();
  const here = `document.activeElement.closest("tr").textContent.includes("a tool failed")`;
  for (let step = 0; step < 50 && !(await page.evaluate(here)); step++)
    await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  const fields = page.locator("tr.details");
  await fields.waitFor();
  expect(await fold.getAttribute("aria-expanded")).toBe("true");
  expect(await fields.innerText()).toContain("logs.long.test.ts");
  expect(await problemsInAllLooks(page, "the log")).toEqual([]);
  await page.keyboard.press("Enter");
  await fields.waitFor({ state: "detached" });
  expect(await page.title()).not.toContain("owned");
  expect(complaints).toEqual([]);
});

it("43: the log goes on while the page is open, each line once, by level, server and words; it can be held", async () => {
  const { url, write } = await startLogged();
  write("info", { server: "house" }, "the first");
  const { page } = await openPage(`${url}/ui/logs`);
  const lines = page.locator("tr.line");
  const line = (text: string) => lines.filter({ hasText: text });
  await line("the first").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  write("warn", FAILURE, "the second");
  await line("the second").waitFor();
  // The last lines are asked for again after a reload of the config, and have both.
  await fetch(`${url}/_meta/reload`, { method: "POST" });
  await line("mutation").first().waitFor();
  for (const text of ["the first", "the second"]) expect(await line(text).count()).toBe(1);

  await page.getByRole("button", { name: "Pause" }).click();
  write("error", {}, "the third");
  await page.getByText("1 new since the pause").waitFor();
  expect(await line("the third").count()).toBe(0);
  await page.getByRole("button", { name: "Pause" }).click();
  await line("the third").waitFor();

  await page.getByLabel("Server").selectOption("house");
  await line("the second").waitFor({ state: "detached" });
  await line("the first").waitFor();
  await page.getByLabel("Server").selectOption("");
  await page.getByLabel("Least level").selectOption("warn");
  await line("the first").waitFor({ state: "detached" });
  await line("the second").waitFor();
  await page.getByLabel("Search lines").fill("disk");
  await line("the third").waitFor({ state: "detached" });
  await line("the second").waitFor();
});

it("43: the newest line stays in sight until somebody reads an older one", async () => {
  const { url, write } = await startLogged();
  for (let count = 0; count < 600; count++) write("info", { count }, `line ${count}.`);
  const { page } = await openPage(`${url}/ui/logs`);
  const line = (text: string) => page.locator("tr.line").filter({ hasText: text });
  await line("line 599.").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  expect(await page.locator("tr.line").count()).toBe(500);
  const isSeen = (text: string) =>
    page.evaluate(`(() => {
      const row = [...document.querySelectorAll("tr.line")].find((each) => each.textContent.includes(${JSON.stringify(text)}));
      const box = document.querySelector(".log").getBoundingClientRect();
      const { top } = row.getBoundingClientRect();
      return top >= box.top && top < box.bottom;
    })()`);
  await expect.poll(() => isSeen("line 599.")).toBe(true);
  write("info", {}, "the next.");
  await line("the next.").waitFor();
  await expect.poll(() => isSeen("the next.")).toBe(true);
  const follow = page.getByRole("button", { name: "Follow" });
  await page.evaluate(`document.querySelector(".log").scrollTo({ top: 0 })`);
  await expect.poll(() => follow.getAttribute("aria-pressed")).toBe("false");
  write("info", {}, "the last.");
  await line("the last.").waitFor();
  expect(await isSeen("the last.")).toBe(false);
  await follow.click();
  await expect.poll(() => isSeen("the last.")).toBe(true);
});

it("43: a page that cannot be loaded while the gateway is away leaves the rest there, and comes with the gateway", async () => {
  const { url, write } = await startLogged();
  write("info", {}, "said before");
  const { page } = await openPage(`${url}/ui/servers`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.context().setOffline(true);
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
  expect(await page.getByRole("link", { name: "Servers" }).isVisible()).toBe(true);
  await page.context().setOffline(false);
  await page.getByRole("button", { name: "Load again" }).click();
  await page.locator("tr.line", { hasText: "said before" }).waitFor();
});
