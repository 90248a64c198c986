import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { definePlugin } from "../../../core/index.ts";
import { Sessions } from "../../../plugins/sessions/service.ts";
import { makeLink } from "../../../plugins/sessions/link.ts";
import { makeAuthority } from "../../fixtures/certificate.ts";
import { FULL, openPage, startGateway } from "./kit.ts";
import { startShop } from "./pages.ts";
import { startProxy } from "./reverse-proxy.ts";

it("16: behind a path of a proxy every link, request and stream works", async () => {
  const { url } = await startShop();
  const { url: outside } = await startProxy(url, { prefix: "/tools/gateway" });
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

it("9, 16: behind TLS and a path the link of the terminal and a key sign in, and the cookie is for TLS alone", async () => {
  let inside = "";
  const tls = makeAuthority({ name: "proxy", hosts: ["127.0.0.1"] });
  const way = await startProxy(() => inside, { prefix: "/tools/gateway", tls });
  const printed: string[] = [];
  const terminal = definePlugin({
    name: "terminal",
    inject: { sessions: Sessions },
    setup(gateway) {
      const { info, services } = gateway;
      const createCode = (): string => services.sessions.createCode();
      gateway.hook("gateway:ready", () => printed.push(makeLink(info, createCode, way.url)!));
    },
  });
  const key = createKey("admin");
  const text = `${FULL}  sessions: {}
  terminal: {}
publicUrl: ${way.url}
auth: { keys: { ops: { role: admin, hash: "sha256:${digestOf(key)}" } } }
servers: { drafts: { command: nothing, enabled: false } }
`;
  inside = (await startGateway(text, [terminal])).url;
  const link = /https:\S+/.exec(printed.join(""))![0];
  const { page, complaints, requests } = await openPage(link, { ignoreHTTPSErrors: true });
  await page.getByText("live", { exact: true }).waitFor();
  expect(page.url()).toBe(`${way.url}/ui/`);
  const cookies = await page.context().cookies();
  expect(cookies).toMatchObject([
    { name: "__Host-propylon", secure: true, httpOnly: true, sameSite: "Strict", path: "/" },
  ]);
  // What changes something takes the cookie and its own origin.
  await page.getByRole("link", { name: "Servers", exact: true }).first().click();
  const toggle = page.locator('tr[data-server="drafts"]').getByRole("switch");
  await toggle.click();
  await expect.poll(() => toggle.getAttribute("aria-checked")).toBe("true");
  expect(complaints).toEqual([]);

  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByLabel("Key or token").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("live", { exact: true }).waitFor();
  expect(requests.filter((one) => !one.includes(" /tools/gateway/"))).toEqual([]);
});
