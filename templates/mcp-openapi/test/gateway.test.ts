import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setupGateway } from "propylon/testing";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const environment = {
  GATEWAY_KEY: "a-key-for-the-test-only",
  STORE: "memory",
  FOLDER: folder,
  SWITCHES: join(folder, "switches.json"),
};
const setup = { file: "gateway.yaml", environment };
const headers = {
  authorization: `Bearer ${environment.GATEWAY_KEY}`,
  "content-type": "application/json",
};

/** With management.readOnly nothing changes over HTTP; tools can be called all the same. */
const isReadOnly = /^management:.*readOnly: true/m.test(readFileSync("gateway.yaml", "utf8"));

it("counts words through a real MCP client", async () => {
  const { client } = await setupGateway(setup);
  const { structuredContent } = await client.callTool({
    name: "count_words",
    arguments: { text: "one two three" },
  });
  expect(structuredContent).toEqual({ words: 3, truncated: false });
});

it("counts words over HTTP, as the document says", async () => {
  const { url } = await setupGateway({ ...setup, client: false });
  const body = JSON.stringify({ text: "one two three" });
  const counted = await fetch(`${url}/hello/count_words`, { method: "POST", headers, body });
  expect(await counted.json()).toMatchObject({ ok: true, result: { words: 3, truncated: false } });
  const document = await (await fetch(`${url}/hello/openapi.json`, { headers })).json();
  expect(document).toMatchObject({ openapi: "3.1.0", paths: { "/count_words": {} } });
});

it.skipIf(isReadOnly)(
  "refuses a tool that is switched off, and takes it out of the list",
  async () => {
    const { client, url } = await setupGateway(setup);
    const switchTo = (word: string): Promise<Response> =>
      fetch(`${url}/_meta/servers/hello/tools/count_words/${word}`, { method: "POST", headers });
    const listed = async (): Promise<string[]> =>
      (await client.listTools()).tools.map(({ name }) => name);

    expect((await switchTo("disable")).status).toBe(200);
    expect(await listed()).not.toContain("count_words");
    const body = JSON.stringify({ text: "one" });
    const refused = await fetch(`${url}/hello/count_words`, { method: "POST", headers, body });
    expect(refused.status).toBe(403);
    expect((await switchTo("enable")).status).toBe(200);
    expect(await listed()).toContain("count_words");
  },
);

it("lets nobody in without the key", async () => {
  const { url } = await setupGateway({ ...setup, client: false });
  expect((await fetch(`${url}/openapi.json`)).status).toBe(401);
});

it.runIf(isReadOnly)("lets nobody change anything over HTTP", async () => {
  const { url } = await setupGateway({ ...setup, client: false });
  const path = "/_meta/servers/hello/tools/count_words/disable";
  const refused = await fetch(`${url}${path}`, { method: "POST", headers });
  expect(await refused.json()).toMatchObject({ error: { code: "read_only" } });
});
