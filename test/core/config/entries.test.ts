import { join } from "node:path";
import {
  createGateway,
  definePlugin,
  durationSchema,
  toGatewayError,
  type GatewayConfigInput,
} from "propylon";
import { ServerTypes } from "propylon/kit";
import { expect, it } from "vitest";
import { z } from "zod";
import { issuesOf } from "../../../core/config/issue.ts";
import { createResolver } from "../../../core/gateway/gateway-options.ts";
import { check } from "../../../core/gateway/check/check.ts";
import { loadConfig } from "../../../core/file/load.ts";
import { parseConfig } from "../../../core/gateway/check/parse.ts";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";

const bells = definePlugin({
  name: "bells",
  serverTypes: {
    bell: z.strictObject({
      every: durationSchema().default(60_000),
      tone: z.strictObject({ high: z.boolean().default(true) }).prefault({}),
      where: z.string(),
    }),
    gong: z.union([z.strictObject({ near: z.string() }), z.strictObject({ far: z.string() })]),
  },
  setup() {},
});
const resolver = createResolver({ plugins: { bells } });
const read = (input: GatewayConfigInput) =>
  parseConfig({ ...input, plugins: { bells: {} } }, resolver);
const told = async (input: GatewayConfigInput): Promise<readonly string[]> =>
  issuesOf(
    await read(input).then(
      () => expect.unreachable("the config was accepted"),
      (thrown: unknown) => toGatewayError(thrown),
    ),
  ).map(({ message }) => message);

async function load(text: string) {
  const folder = makeFolder({ "gateway.yaml": text });
  return (await loadConfig(join(folder, "gateway.yaml"), { environment: {} })).config;
}

it("an entry has the options of its type as written, with their defaults; its plugin gets them as read", async () => {
  const { values, entries } = await read({
    servers: { a: { type: "bell", where: "hall", timeout: 5 }, b: { type: "gong", far: "yard" } },
  });
  expect(values.servers["a"]).toMatchObject({ type: "bell", timeout: 5_000, where: "hall" });
  expect(values.servers["a"]).toMatchObject({ every: "1m", tone: { high: true } });
  expect(values.servers["b"]).toMatchObject({ type: "gong", far: "yard" });
  expect(entries.get("a")).toEqual({ every: 60_000, tone: { high: true }, where: "hall" });
  expect(entries.get("b")).toEqual({ far: "yard" });
});

it("what is wrong with entries of all types is told at once, with what is wrong elsewhere", async () => {
  const messages = await told({
    servers: {
      a: { type: "bell", timeout: "never" },
      b: { command: "node", arguments: [] } as never,
      c: { url: "nowhere", command: "node" },
    },
    limits: { depth: 1 },
  });
  expect(messages.toSorted()).toEqual([
    'Unknown key "arguments" in servers.b.',
    "limits.depth must be at least 4.",
    'servers.a.timeout must be a duration such as 30s, 1500ms or 10m, got "never".',
    "servers.a.where is missing.",
    "servers.c has a command and a url.",
  ]);
});

it("servers that are no map are told what they are to be", async () => {
  const error = await load("servers: 5\n").catch((thrown: unknown) => toGatewayError(thrown));
  expect(issuesOf(toGatewayError(error))).toMatchObject([
    { message: "servers must be a map.", hint: "Meaning: MCP servers by name." },
  ]);
});

it("a type may be written beside the transport that says more of it", async () => {
  const { servers } = (
    await load("servers: { a: { type: http, transport: sse, url: http://a.example/ } }\n")
  ).values;
  expect(servers["a"]).toMatchObject({ type: "http", transport: "sse" });
  await expect(
    load("servers: { a: { type: streamable-http, transport: sse, url: http://a.example/ } }\n"),
  ).rejects.toThrow("Both transport and type are set.");
});

it("a server stays while its entry means the same in other words", async () => {
  const upstream = await fakeUpstream({ echo: () => "yes" });
  const entry = (more: object) => ({ servers: { up: { url: upstream.url, ...more } } });
  const { gateway } = await setupGateway({ config: entry({ ping: 90 }), client: false });
  const apply = async (more: object) =>
    (await gateway.apply({ ...gateway.written, ...entry(more) })).servers.unchanged;
  expect(await apply({ ping: "90s" })).toEqual(["up"]);
  expect(await apply({ ping: "1.5m", protocol: "auto", type: "http" })).toEqual(["up"]);
  expect(await apply({ ping: "2m" })).toEqual([]);
});

it("with servers off nothing of it is loaded", async () => {
  const asked: string[] = [];
  const off = { servers: false, mcp: false, tasks: false, keys: false } as const;
  const config: GatewayConfigInput = { plugins: off };
  const noting = { names: [], resolve: (key: string) => (asked.push(key), resolver.resolve(key)) };
  await check(await parseConfig(config, noting), noting);
  expect(asked).toEqual([]);
  const gateway = await createGateway(config);
  await gateway.close();
});

it("a plugin of the config that brings a type of its own serves its entries", async () => {
  const seen: unknown[] = [];
  const other = definePlugin({
    name: "other",
    serverTypes: { openapi: z.strictObject({ spec: z.string() }) },
    setup: (gateway) =>
      gateway.add(ServerTypes, {
        type: "openapi",
        create: (_name, options) => {
          seen.push(options);
          throw new Error("It was made.");
        },
      }),
  });
  const start = createGateway(
    { servers: { a: { type: "openapi", spec: "x" } }, plugins: { other: {} } },
    { plugins: { other } },
  );
  await expect(start).rejects.toThrow("It was made.");
  expect(seen).toEqual([{ spec: "x" }]);
});
