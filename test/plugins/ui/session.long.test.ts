import { digestOf } from "propylon/kit";
import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { definePlugin } from "../../../core/index.ts";
import { Sessions } from "../../../plugins/sessions/service.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { FULL, openPage, startGateway } from "./kit.ts";

const KEYS = { ops: createKey("operator"), look: createKey("viewer") };

const hashOf = (key: string): string => `sha256:${digestOf(key)}`;
const LOOK = `    look: { role: viewer, hash: "${hashOf(KEYS.look)}" }\n`;
const OPS = `    ops: { role: operator, hash: "${hashOf(KEYS.ops)}" }\n`;
const config = (keys: string, plugins = "  sessions: {}\n"): string =>
  `${FULL}${plugins}servers: { drafts: { command: nothing, enabled: false } }\nauth:\n  keys:\n${keys}`;

it("9: a key is sent once, its cookie has its rights, and signing out ends it", async () => {
  const { url } = await startGateway(config(OPS + LOOK));
  const { page, requests } = await openPage(`${url}/ui/servers`);
  const carried: string[] = [];
  page.on("request", (request) => {
    if (JSON.stringify(request.headers()).includes(KEYS.ops)) carried.push(request.url());
  });
  // Who is nobody asks for nothing but who they are.
  const key = page.getByLabel("Key or token");
  await key.fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The key or token is wrong.").waitFor();
  expect(new Set(requests.filter((request) => request.includes("/_meta")))).toEqual(
    new Set(["GET /_meta/ui"]),
  );
  await key.fill(KEYS.ops);
  await page.getByRole("button", { name: "Sign in" }).click();
  const row = page.locator('tr[data-server="drafts"]');
  await row.waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await page.reload();
  await row.getByRole("switch").click();
  await row.getByRole("switch").and(page.locator('[aria-checked="true"]')).waitFor();
  expect(carried).toEqual([`${url}/ui/session`]);
  // The cookie is all there is, and no script can read it.
  const stored = await page.evaluate(
    "document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.body.innerHTML",
  );
  expect(stored).not.toContain(KEYS.ops);
  const [cookie, ...others] = await page.context().cookies();
  expect(others).toEqual([]);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  expect(stored).not.toContain(cookie!.value);

  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await key.waitFor();
  expect(await page.context().cookies()).toEqual([]);
  const headers = { cookie: `${cookie!.name}=${cookie!.value}` };
  expect((await fetch(`${url}/_meta/servers`, { headers })).status).toBe(401);
});

it("9: signing out takes the page at once, also where no event tells of it", async () => {
  const silent = config(OPS).replace("  events: {}\n", "");
  const { url } = await startGateway(silent);
  const { page } = await openPage(`${url}/ui/servers`);
  const key = page.getByLabel("Key or token");
  await key.fill(KEYS.ops);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("polling 8 s").waitFor();
  // What it asks every 8 s is asked now.
  await page.reload();
  await page.getByText("polling 8 s").waitFor();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await key.waitFor({ timeout: PATIENCE * 2_000 });
  expect(await page.locator('tr[data-server="drafts"]').count()).toBe(0);
});

it("9: a key that leaves the config takes the rights of a page that is open", async () => {
  const { url, file, gateway } = await startGateway(config(OPS + LOOK));
  const { page } = await openPage(`${url}/ui/servers`);
  const signIn = async (key: string): Promise<void> => {
    await page.getByLabel("Key or token").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("live", { exact: true }).waitFor();
  };
  await signIn(KEYS.ops);
  await page.locator('tr[data-server="drafts"]').waitFor();
  await writeFile(file, config(LOOK));
  await (await gateway.manage()).reload();
  // Nobody touches the page: the end of its stream tells it.
  await page.getByLabel("Key or token").waitFor({ timeout: PATIENCE * 5_000 });
  expect(await page.locator('tr[data-server="drafts"]').count()).toBe(0);

  // Another role counts at once as well: a viewer's switch says what it takes.
  await signIn(KEYS.look);
  const toggle = page.locator('tr[data-server="drafts"]').getByRole("switch");
  await toggle.waitFor();
  expect(await toggle.getAttribute("title")).toContain('the role "operator"');
});

it("9: the link of the terminal signs in once, and its code leaves the address", async () => {
  let createCode = (): string => "";
  const { url } = await startGateway(config(OPS, "  sessions: {}\n  terminal: {}\n"), [
    definePlugin({
      name: "terminal",
      inject: { sessions: Sessions },
      setup({ services }) {
        createCode = () => services.sessions.createCode();
      },
    }),
  ]);
  const link = `${url}/ui/#code=${createCode()}`;
  const { page } = await openPage(link);
  await page.getByText("live", { exact: true }).waitFor();
  expect(page.url()).toBe(`${url}/ui/`);
  const other = await openPage(link);
  await other.page.getByRole("alert").waitFor();
  await other.page.getByLabel("Key or token").waitFor();
  expect(other.page.url()).toBe(`${url}/ui/`);
});

it("9: without the plugin sessions the page, and the gateway, say that nobody can sign in", async () => {
  const { url, gateway } = await startGateway(config(OPS, ""));
  const { page } = await openPage(`${url}/ui/`);
  await page.getByText("Add the plugin sessions").waitFor();
  expect(await page.locator("button, input, a").count()).toBe(0);
  const found = (): string[] =>
    collectWarnings(gateway)
      .filter(({ path }) => path.join(".") === "plugins.ui")
      .map(({ hint }) => hint);
  expect(found()).toEqual(["Add sessions: {} to plugins."]);
});

it("9: there is no warning of that with sessions, nor where everybody is let in", async () => {
  for (const text of [config(OPS), FULL]) {
    const { gateway } = await startGateway(text);
    const found = collectWarnings(gateway).filter(({ path }) => path.includes("ui"));
    expect(found).toEqual([]);
  }
});
