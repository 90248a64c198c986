import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { FULL, openPage, startGateway } from "./kit.ts";

it("M020: each value of the config says where it comes from, without secrets", async () => {
  const { url } = await startGateway(
    `${FULL}servers: { shop: { url: "http://127.0.0.1:9/mcp", headers: { X-Key: s3cretWord } } }\n`,
  );
  const { page, complaints } = await openPage(`${url}/ui/config`);
  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  await row("management.mutations").getByText("gateway.yaml:2:").waitFor();
  await row("management.enabled").getByText("default", { exact: true }).waitFor();
  await row("servers.shop.headers.X-Key").getByText("gateway.yaml:").waitFor();
  expect(await page.content()).not.toContain("s3cretWord");
  // Why nothing can be edited here, and what would allow it.
  await page.getByText("plugins.admin.allowConfigEdits: true").waitFor();
  // More of them than a screen has.
  const { values } = (await (await fetch(`${url}/_meta/config/origin`)).json()) as {
    values: object[];
  };
  expect(values.length).toBeGreaterThan(40);
  await expect.poll(() => page.locator("tbody tr").count()).toBe(values.length);

  await page.getByLabel("Origin").selectOption("file");
  await row("management.enabled").waitFor({ state: "detached" });
  await page.getByLabel("Search values").fill("MUTATIONS");
  await expect.poll(() => row("servers.shop").count()).toBe(0);
  expect(await row("management.mutations").count()).toBe(1);
  // The filters stand in the address.
  await page.reload();
  await row("management.mutations").waitFor();
  expect(await row("servers.shop").count()).toBe(0);
  expect(complaints).toEqual([]);
});

const EDITABLE = FULL.replace("admin: {}", "admin: { allowConfigEdits: true }");

it("M020: a value is checked as one types, shown beside what was, and written with its comments", async () => {
  const { url, file, gateway } = await startGateway(
    `# of the team\n${EDITABLE}servers: { shop: { url: "http://127.0.0.1:9/mcp" } }\n`,
  );
  const { page, requests, complaints } = await openPage(`${url}/ui/config?q=servers.shop`);
  await page.getByRole("button", { name: "Change servers.shop.url" }).click();
  const field = page.getByLabel("New value of servers.shop.url");
  const apply = page.getByRole("button", { name: "Apply", exact: true });
  await field.fill("nowhere");
  const trouble = page.getByRole("alert").filter({ hasText: "This cannot be applied" });
  await trouble.getByText("gateway.yaml:").waitFor();
  await apply.click({ force: true });
  await field.fill("http://127.0.0.1:10/mcp");
  await page.getByText("server shop: changed").waitFor();
  expect(await page.locator("main del").innerText()).toBe('"http://127.0.0.1:9/mcp"');
  expect(await page.locator("main ins").innerText()).toBe('"http://127.0.0.1:10/mcp"');
  // A second one, that does not stand in the file yet.
  await page.getByLabel("Name of another value").fill("timeouts.default");
  await page.getByRole("button", { name: "Set it" }).click();
  await page.getByLabel("New value of timeouts.default").fill("");
  await page.getByText("Type a value to see what it would do.").waitFor();
  await apply.click({ force: true });
  // Neither what is wrong nor what is not typed yet was sent.
  expect(requests).not.toContain("PUT /_meta/config");
  await page.getByLabel("New value of timeouts.default").fill("45s");
  await page.getByText("The gateway has checked it.").waitFor();
  await apply.click();
  await page.getByText("The config is applied.").waitFor();
  expect(await readFile(file, "utf8")).toMatch(/^# of the team\n[^]*http:\/\/127.0.0.1:10\/mcp/);
  expect(gateway.config.timeouts.default).toBe(45_000);
  await page.getByLabel("Search values").fill("timeouts.default");
  await page
    .getByRole("row")
    .getByText(/gateway\.yaml:\d+:\d+/)
    .waitFor();
  // What is removed is what it was by default.
  await page.getByRole("button", { name: "Change timeouts.default" }).click();
  await page.getByLabel("Remove it from the file").check();
  await page.getByText("The gateway has checked it.").waitFor();
  await apply.click();
  await expect.poll(() => gateway.config.timeouts.default).not.toBe(45_000);
  expect(complaints.filter((text) => !text.includes("/_meta/config/check"))).toEqual([]);
});

it("a change that was made for another config is told, and loses nothing", async () => {
  const { url, gateway } = await startGateway(EDITABLE);
  const { page } = await openPage(`${url}/ui/config?q=name`);
  await page.route("**/_meta/events**", (route) => route.abort());
  await page.reload();
  await page.getByRole("button", { name: "Change name", exact: true }).click();
  const field = page.getByLabel("New value of name", { exact: true });
  await field.fill("mine");
  await page.getByText("The gateway has checked it.").waitFor();
  await (await gateway.manage()).edit([{ path: ["name"], value: "theirs" }]);
  // Nobody told the page: its own request is the first to learn of it.
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText("The config was changed by somebody else in between.").waitFor();
  await page.getByText("What you typed is kept").waitFor();
  expect(await field.inputValue()).toBe("mine");
  await page.locator("li").getByText('"theirs"').waitFor();
  expect(gateway.config.name).toBe("theirs");
  await page.getByRole("button", { name: "Go on with the config of now" }).click();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await expect.poll(() => gateway.config.name).toBe("mine");

  // A page that is told shows it before anything is sent.
  await page.unroute("**/_meta/events**");
  // By itself or by "Connect now", which may be gone before it is clicked.
  await page.reload();
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Change name", exact: true }).click();
  await field.fill("mine again");
  await (await gateway.manage()).edit([{ path: ["name"], value: "theirs again" }]);
  await page.getByText("What you typed is kept").waitFor();
  expect(await field.inputValue()).toBe("mine again");
});

it("who may not change the config sees why, and a gateway that lets nobody has no control for it", async () => {
  const { url } = await startGateway(EDITABLE.replace("mutations: true", "mutations: false"));
  const { page } = await openPage(`${url}/ui/config?q=name`);
  const change = page.getByRole("button", { name: "Change name", exact: true });
  await change.waitFor();
  expect(await change.getAttribute("aria-disabled")).toBe("true");
  expect(await change.getAttribute("title")).toContain("management");
  await change.click({ force: true });
  expect(await page.getByLabel("New value of name").count()).toBe(0);

  const closed = await startGateway(FULL);
  await page.goto(`${closed.url}/ui/config?q=name`);
  await page.getByText("plugins.admin.allowConfigEdits: true").waitFor();
  expect(await page.getByRole("button", { name: /^Change / }).count()).toBe(0);
});
