import { Client as ModernClient } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pino } from "pino";
import { createGateway, type Gateway, type Json } from "propylon";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import openapi from "../../../plugins/openapi/index.ts";
import { rpc, type Running, serveHttp } from "../../plugins/servers/support/servers.ts";
import { until } from "../../kit/until.ts";

const INPUT = { type: "object" };

/** Entries that clients refuse a whole list for, each with the name it would have. */
const MALFORMED = {
  tools: [
    { name: "output-null", inputSchema: INPUT, outputSchema: null },
    { name: "output-text", inputSchema: INPUT, outputSchema: "object" },
    { name: "no-input" },
    { name: "input-null", inputSchema: null },
    { name: "input-array", inputSchema: { type: "array" } },
    { name: "properties", inputSchema: { type: "object", properties: { a: 5 } } },
    { name: "required", inputSchema: { type: "object", required: [5] } },
    { name: "description", inputSchema: INPUT, description: 5 },
    { name: "annotations", inputSchema: INPUT, annotations: "safe" },
    { name: "hint", inputSchema: INPUT, annotations: { readOnlyHint: "yes" } },
    { name: "icons", inputSchema: INPUT, icons: [{ href: "x" }] },
    { name: "meta", inputSchema: INPUT, _meta: [] },
    { name: "", inputSchema: INPUT },
    { name: 5, inputSchema: INPUT },
    "text",
    null,
    [],
  ],
  resources: [
    { uri: "a:1" },
    { uri: "a:2", name: 5 },
    { uri: "a:3", name: "n", mimeType: {} },
    { uri: "a:4", name: "n", size: "big" },
    { uri: 5, name: "n" },
    null,
  ],
  resourceTemplates: [{ uriTemplate: "a:{x}" }, { uriTemplate: 5, name: "n" }, null],
  prompts: [
    { name: "one", arguments: {} },
    { name: "two", arguments: [{}] },
    { name: "three", arguments: [{ name: "n", required: "yes" }] },
    { description: "no name" },
    null,
  ],
};
/** One good entry each, with the nulls that some libraries write for what is absent. */
const GOOD = {
  tools: {
    name: "good",
    title: null,
    description: null,
    inputSchema: { type: "object", properties: { any: true } },
    annotations: { title: null, readOnlyHint: true },
  },
  resources: { uri: "good:1", name: "good", size: null },
  resourceTemplates: { uriTemplate: "good:{x}", name: "good" },
  prompts: { name: "good", arguments: [{ name: "a", required: null }] },
};

const LISTS: Record<string, Json> = Object.fromEntries(
  Object.entries({
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
  } as const).map(([method, kind]) => [
    method,
    { [kind]: [...MALFORMED[kind], GOOD[kind], ...MALFORMED[kind]] },
  ]),
);

let server: Running;
let gateway: Gateway;
const warnings: Json[] = [];

beforeAll(async () => {
  server = await serveHttp((_req, res, body) => {
    if (body?.id === undefined) return void res.writeHead(202).end();
    if (body.method === "initialize")
      return rpc(res, body.id, {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, resources: {}, prompts: {} },
        serverInfo: { name: "malformed", version: "1" },
      });
    rpc(res, body.id, LISTS[body.method] ?? {});
  });
  const log = pino(
    { level: "warn" },
    { write: (line: string) => void warnings.push(JSON.parse(line) as Json) },
  );
  gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      servers: { s: { url: server.url, protocol: "legacy" } },
      plugins: { openapi: {} },
    },
    { plugins: { openapi }, log },
  );
  await gateway.listen();
  await until(() => gateway.servers.get("s")?.status.state === "ready");
});
afterAll(async () => {
  await gateway.close({ grace: 0 });
  await server.close();
});

type ListClient = Pick<Client, "listTools" | "listResources" | "listPrompts" | "close"> &
  Pick<Client, "listResourceTemplates">;

const CLIENTS: Record<string, (url: URL) => Promise<ListClient>> = {
  "1.x": async (url) => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(url));
    return client;
  },
  "2.x": async (url) => {
    const client = new ModernClient({ name: "test", version: "1" });
    await client.connect(new ModernTransport(url));
    return client as unknown as ListClient;
  },
};

describe.each(Object.keys(CLIENTS))("the official client %s", (version) => {
  it("issue 18: sees every entry that is well-formed, whatever stands beside it", async () => {
    const client = await CLIENTS[version]!(new URL(gateway.endpoints[0]!.url));
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["output-null", "output-text", "good"]);
      // Of these the schema alone is left out.
      for (const tool of tools.slice(0, 2)) expect(tool).not.toHaveProperty("outputSchema");
      expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["good:1"]);
      expect(
        (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate),
      ).toEqual(["good:{x}"]);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["good"]);
    } finally {
      await client.close();
    }
  });
});

it("issue 18: the OpenAPI documents are there", async () => {
  const { origin } = new URL(gateway.endpoints[0]!.url);
  for (const path of ["/openapi.json", "/s/openapi.json"]) {
    const response = await fetch(`${origin}${path}`);
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text()).toContain("good");
  }
});

it("issue 18: one warning tells of all of them", () => {
  const told = warnings.filter(({ msg }) => String(msg).startsWith("malformed"));
  expect(told).toHaveLength(1);
  const all = 2 * Object.values(MALFORMED).flat().length;
  expect(told[0]).toMatchObject({ server: "s", count: all });
  expect(String(told[0]!["entries"])).toContain('tools "output-null": outputSchema');
});
