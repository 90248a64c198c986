import { ServerTypes } from "propylon/kit";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  Answer,
  createGateway,
  definePlugin,
  type Catalogue,
  type Json,
  type PluginContext,
} from "../../../core/index.ts";
import { type ManagedServer, StatusTracker } from "../../../core/kit.ts";
import { EMPTY_CATALOGUE } from "../../../core/internal.ts";
import openapi from "../../../plugins/openapi/index.ts";

const INPUT = { type: "object" };
/** What a plugin may take over from somewhere else without a look. */
const LISTS = {
  tools: [
    { name: "good", inputSchema: INPUT },
    { name: "output-null", inputSchema: INPUT, outputSchema: null },
    { name: "no-input" },
    { name: "description", inputSchema: INPUT, description: 5 },
    { name: "title", title: null, inputSchema: INPUT },
    null,
  ],
  resources: [{ uri: "good:1", name: "good" }, { uri: 5 }],
  prompts: [{ name: "good" }, { name: 5 }],
  resourceTemplates: "none",
};

/** A server whose lists are as given. */
class Careless implements ManagedServer {
  readonly name: string;
  readonly catalogue: Catalogue;
  readonly #standing: StatusTracker;

  constructor(name: string, log: PluginContext["log"]) {
    this.name = name;
    this.#standing = new StatusTracker({ server: name, transport: "careless", log });
    const capabilities = { tools: {}, resources: {}, prompts: {} };
    const content = { ...LISTS, capabilities, hash: name };
    this.catalogue = { ...EMPTY_CATALOGUE, ...(content as unknown as Partial<Catalogue>) };
  }
  get status() {
    return this.#standing.status;
  }
  start(): void {
    this.#standing.set("ready");
  }
  request(): Promise<Answer> {
    return Promise.resolve(Answer.result({ content: [{ type: "text", text: this.name }] }));
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
  on(listener: Parameters<StatusTracker["on"]>[0]): () => void {
    return this.#standing.on(listener);
  }
}

const careless = definePlugin({
  name: "careless",
  serverTypes: { careless: z.strictObject({}) },
  setup(gateway) {
    gateway.add(ServerTypes, {
      type: "careless",
      create: (name) => new Careless(name, gateway.log),
    });
    gateway.server(new Careless("registered", gateway.log));
  },
});
const other = definePlugin({
  name: "other",
  setup: (gateway) =>
    gateway.tool("fine", { description: "Works.", run: () => Promise.resolve("fine") }),
});

it("issue 18: malformed entries of a plugin's server are left out with a warning, all others stay", async () => {
  const warnings: Json[] = [];
  const log = pino(
    { level: "warn" },
    { write: (line: string) => void warnings.push(JSON.parse(line) as Json) },
  );
  const gateway = await createGateway(
    {
      listeners: { main: { port: 0 } },
      servers: { typed: { type: "careless" } },
      plugins: { openapi: {}, careless: {}, other: {} },
    },
    { plugins: { openapi, careless, other }, log },
  );
  onTestFinished(() => gateway.close({ grace: 0 }));
  await gateway.listen();
  const endpoint = new URL(gateway.endpoints[0]!.url);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(endpoint));
  onTestFinished(() => client.close());

  const { tools } = await client.listTools();
  // Of the one in the middle the output schema alone is left out.
  const own = ["registered", "typed"].flatMap((name) =>
    ["good", "output-null", "title"].map((tool) => `${name}__${tool}`),
  );
  expect(tools.map(({ name }) => name).toSorted()).toEqual(["fine", ...own]);
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(["good:1", "propylon://registered/good:1"]);
  expect((await client.listPrompts()).prompts).toHaveLength(2);
  expect((await client.listResourceTemplates()).resourceTemplates).toEqual([]);
  const called = await client.callTool({ name: "typed__good", arguments: {} });
  expect(called.content).toEqual([{ type: "text", text: "typed" }]);
  for (const path of ["/openapi.json", "/typed/openapi.json", "/registered/openapi.json"]) {
    const response = await fetch(new URL(path, endpoint));
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text()).toContain("good");
  }
  const told = warnings.filter(({ msg }) => String(msg).includes("malformed entries"));
  const entries = told.map(
    (warning) => [String(warning["server"]), String(warning["entries"])] as const,
  );
  expect(entries.map(([server]) => server).toSorted()).toEqual(["registered", "typed"]);
  for (const [, text] of entries) {
    expect(text).toContain('tools "output-null": outputSchema');
    expect(text).toContain("resourceTemplates");
  }
});
