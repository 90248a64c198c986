import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import * as modernSdk from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { definePlugin } from "propylon";
import { setupGateway } from "propylon/testing";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import openapi from "../../../plugins/openapi/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { CONVERTERS, importDocument, requestOf } from "../openapi/open-webui.ts";
import { PAGE, PAGE_URL, snippetsOf } from "./snippets.ts";

const MCP_REMOTE = fileURLToPath(
  new URL("../../../node_modules/mcp-remote/dist/proxy.js", import.meta.url),
);
const KEY = "the-key-of-the-gateway-of-the-page";

const page = readFileSync(PAGE, "utf8");
const snippets = snippetsOf(page);

const shop = definePlugin({
  name: "shop",
  setup(gateway) {
    gateway.tool("price", {
      description: "The price of an item.",
      input: z.object({ item: z.string() }),
      run: ({ item }) => `${item}: 3 EUR`,
    });
  },
});

/** A gateway with a key, and a tool to call. */
async function startShop() {
  const { url } = await setupGateway({
    plugins: [shop, openapi],
    config: { auth: { apiKey: KEY } },
    client: false,
  });
  return { url, endpoint: `${url}/mcp` };
}

/** What a client makes of its snippet: variables are set, its person is asked, or wrote the key into it. */
function pasted(snippet: string, endpoint: string): unknown {
  const filled = snippet
    .replaceAll(PAGE_URL, endpoint)
    .replaceAll(/\$\{(?:env:)?PROPYLON_API_KEY\}|\$\{input:propylon-key\}|<the key>/g, KEY);
  return JSON.parse(filled);
}

/** The URL and the header in a snippet, wherever its client wants them. */
function connectionIn(value: unknown): { readonly url: string; readonly authorization: string } {
  const texts = textsIn(value);
  const url = texts.find((each) => each.startsWith("http://"))!;
  const bearer = texts.find((each) => each === `Bearer ${KEY}`);
  return { url, authorization: bearer ?? `Bearer ${texts.find((each) => each === KEY)}` };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const PRICE = { name: "price", arguments: { item: "tea" } };
const PRICED = { content: [{ type: "text", text: "tea: 3 EUR" }] };

it.each(snippets)("what $client is given leads to a tool of the gateway", async (snippet) => {
  const { endpoint } = await startShop();
  const { url, authorization } = connectionIn(pasted(snippet.text, endpoint));
  expect(url).toBe(endpoint);
  const requestInit = { headers: { authorization } };
  const legacy = new Client({ name: "test", version: "1" });
  await legacy.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => legacy.close());
  expect(await legacy.callTool(PRICE)).toMatchObject(PRICED);
  const modern = new modernSdk.Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await modern.connect(new modernSdk.StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => modern.close());
  expect(await modern.callTool(PRICE)).toMatchObject(PRICED);
});

it("mcp-remote calls a tool with the command, the arguments and the variables of Claude Desktop", async () => {
  const { endpoint } = await startShop();
  const { text: snippet } = snippets.find(({ client }) => client === "claude-desktop")!;
  const { mcpServers } = pasted(snippet, endpoint) as {
    mcpServers: {
      propylon: { command: string; args: string[]; env: Record<string, string> };
    };
  };
  const { command, args, env } = mcpServers.propylon;
  expect([command, ...args.slice(0, 2)]).toEqual(["npx", "-y", "mcp-remote"]);
  const folder = makeFolder();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, ...args.slice(2)],
    env: { ...env, PATH: folder, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: "ignore",
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect(await client.callTool(PRICE)).toMatchObject(PRICED);
});

it("Open WebUI imports the tools at the URL that the page names, and calls one", async () => {
  const { url } = await startShop();
  expect(page).toContain("`http://127.0.0.1:8080/<server>`");
  const headers = { authorization: `Bearer ${KEY}` };
  const document = (await (await fetch(`${url}/shop/openapi.json`, { headers })).json()) as Record<
    string,
    unknown
  >;
  for (const converter of CONVERTERS)
    expect(importDocument(converter, document).map(({ name }) => name)).toEqual(["price"]);
  const request = requestOf(document, `${url}/shop`, "price", { item: "tea" });
  request.headers.set("authorization", headers.authorization);
  const answer = await fetch(request);
  expect(await answer.json()).toMatchObject({ ok: true, result: "tea: 3 EUR" });
});

it("a wrong key and an unexpected host are refused as the page says", async () => {
  const { endpoint } = await startShop();
  const ask = async (headers: Record<string, string>) => {
    const request = httpRequest(endpoint, { method: "POST", headers }).end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode, body: await text(response) };
  };
  expect(await ask({})).toMatchObject({ status: 401 });
  expect(await ask({ authorization: "Bearer somebody-else's-key" })).toMatchObject({ status: 401 });
  const { status, body } = await ask({ host: "tools.example" });
  expect(status).toBe(403);
  const [, quoted] = /\| 403, "([^"]+)"/.exec(page)!;
  expect(body).toContain(quoted);
});
