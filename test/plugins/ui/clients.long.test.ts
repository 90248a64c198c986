import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { fakeUpstream } from "../../../core/testing/index.ts";
import { propylon } from "../../core/cli/propylon.ts";
import { FULL, openPage, runCopied, startGateway } from "./kit.ts";

const key = createKey("admin");

it("M022: the command that the page Clients copies lists the tools of the gateway, with its key or without", async () => {
  const shop = await fakeUpstream({ price: () => "3 EUR" });
  const servers = `servers: { shop: { url: "${shop.url}" } }\n`;
  const auth = `auth: { keys: { ops: { role: admin, hash: "sha256:${digestOf(key)}" } } }\n`;
  for (const [more, env] of [
    ["", {}],
    [`  sessions: {}\n${auth}`, { PROPYLON_API_KEY: key }],
  ] as const) {
    const { url } = await startGateway(`${FULL}${more}${servers}`);
    const { page } = await openPage(`${url}/ui/clients`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    if (more !== "") {
      await page.getByLabel("Key or token").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
    }
    const shell = page.locator("section").filter({ hasText: "npx propylon tools" });
    await shell.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Copied").waitFor();
    const command = (await page.evaluate("navigator.clipboard.readText()")) as string;
    expect(command).not.toContain(key);
    expect(await runCopied(command, env)).toMatch(/^(?:shop[_/.-]+)?price\(/m);
  }
});

it("M022: the page and the command line say the same to every client", async () => {
  const { url } = await startGateway(FULL);
  const target = `${url}/mcp`;
  for (const flag of ["--key", "--login"]) {
    const asked = `${url}/_meta/clients?url=${encodeURIComponent(target)}&key=${flag === "--key" ? 1 : 0}`;
    const { clients } = (await (await fetch(asked)).json()) as { clients: { text: string }[] };
    const texts = clients.map(({ text }) => text.replaceAll('"tested"', '"propylon"'));
    for (const client of ["claude", "claude-desktop", "cursor", "vscode", "inspector", "generic"]) {
      const { stdout } = await propylon(["client-config", client, target, flag, "--json"]);
      expect(texts).toContain(stdout.trim());
    }
  }
});

it.each(["", "ftp://host/mcp", "javascript:alert(1)", "http://host/mcp&extra=1"])(
  "M022: guides are only made for the URL of an endpoint: %j",
  async (target) => {
    const { url } = await startGateway(FULL);
    expect((await fetch(`${url}/_meta/clients?url=${target}`)).status).toBe(422);
  },
);

it("M022: a URL that a shell would read as more than a word is quoted", async () => {
  const { url } = await startGateway(FULL);
  const target = "http://127.0.0.1:9/a;touch%20owned/$(id)/mcp";
  const asked = `${url}/_meta/clients?url=${encodeURIComponent(target)}`;
  const { clients } = (await (await fetch(asked)).json()) as {
    clients: { where: string; text: string }[];
  };
  const inShell = clients.filter(({ text }) => /^(?:claude|npx) /.test(text));
  expect(inShell).toHaveLength(2);
  for (const { text } of inShell) expect(text).toContain(`'${target}'`);
});
