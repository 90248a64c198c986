import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { Answer, definePlugin, GatewayError } from "../../core/index.ts";
import { ERROR_STATUS } from "../../core/kit/errors.ts";
import {
  fakeUpstream,
  setupGateway,
  testPlugin,
  type PluginEntry,
} from "../../core/testing/index.ts";
import payloads from "../../plugins/payloads/index.ts";
import doorman from "../fixtures/doorman.ts";
import presets from "../fixtures/presets.ts";
import visits from "../fixtures/visits.ts";

const page = await readFile("docs/guide/write-a-plugin.md", "utf8");
const reference = await readFile("docs/reference/writing-plugins.md", "utf8");

testPlugin(visits, {});
testPlugin(doorman, { with: [visits] });
testPlugin(presets, { config: { tools: {} } });

it.each([
  ["visits", page],
  ["doorman", page],
  ["presets", reference],
])("the plugin %s of the pages is the one that is tested here", async (name, text) => {
  expect(text).toContain(await readFile(`test/fixtures/${name}.ts`, "utf8"));
});

it("the plugins of the guide share a service, count, and use a first-party plugin where it is there", async () => {
  const { client, gateway } = await setupGateway({ plugins: [visits, doorman, payloads] });
  const enter = (name: string) => client.callTool({ name: "enter", arguments: { name } });
  await enter("Ada");
  expect(await enter("Ada")).toEqual({
    content: [{ type: "text", text: '{"name":"Ada","visits":2}' }],
    structuredContent: { name: "Ada", visits: 2 },
  });
  expect(await enter("Nobody")).toMatchObject({
    isError: true,
    content: [{ type: "text", text: "Nobody is not let in. Come as somebody." }],
  });
  const metrics = await (await gateway.manage()).metrics();
  expect(metrics).toMatch(/^visits_total 2$/m);
  expect(metrics).toMatch(/^visits_names 1$/m);
  expect(metrics).toMatch(/^payloads_stored 1$/m);
});

it("without what is optional it works, without the other it says who is missing", async () => {
  const { client } = await setupGateway({ plugins: [visits, doorman] });
  const { structuredContent } = await client.callTool({
    name: "enter",
    arguments: { name: "Ada" },
  });
  expect(structuredContent).toEqual({ name: "Ada", visits: 1 });
  await expect(setupGateway({ plugins: [doorman], client: false })).rejects.toThrow(/visits/);
});

/** A plugin with one tool. */
function returning(value: unknown): PluginEntry {
  return definePlugin({
    name: "returning",
    setup: (gateway) => gateway.tool("get", { description: "Gets.", run: () => value as never }),
  });
}

it.each([
  ["a text", "hi", { content: [{ type: "text", text: "hi" }] }],
  [
    "an object",
    { a: 1 },
    { content: [{ type: "text", text: '{"a":1}' }], structuredContent: { a: 1 } },
  ],
  [
    "a result",
    { content: [{ type: "image", data: "AA==", mimeType: "image/png" }] },
    { content: [{ type: "image", data: "AA==", mimeType: "image/png" }] },
  ],
  [
    "nothing",
    undefined,
    { content: [{ type: "text", text: 'Tool "get" failed.' }], isError: true },
  ],
])("a tool may return what the guide says: %s", async (_, value, result) => {
  const { client } = await setupGateway({ plugins: [returning(value)] });
  expect(await client.callTool({ name: "get" })).toEqual(result);
});

/** A middleware in front of a tool, and a route that fails alike. */
function failing(fail: () => never | Promise<Answer>): PluginEntry {
  return definePlugin({
    name: "failing",
    setup(gateway) {
      gateway.tool("get", { description: "Gets.", run: () => "got" });
      gateway.use("gate", fail);
      gateway.route("GET", "/get", { access: "public", mutates: false }, fail as never);
    },
  });
}

it("a middleware and a route fail as the guide says", async () => {
  const known = await setupGateway({
    plugins: [
      failing(() => {
        throw new GatewayError("rate_limited", "Too many visits.", { hint: "Come tomorrow." });
      }),
    ],
  });
  await expect(known.client.callTool({ name: "get" })).rejects.toMatchObject({
    code: -32000,
    data: { code: "rate_limited" },
    message: expect.stringContaining("Too many visits.") as string,
  });
  const response = await fetch(`${known.url}/get`);
  expect([response.status, await response.json()]).toMatchObject([
    429,
    { ok: false, error: { code: "rate_limited" } },
  ]);
  const unknown = await setupGateway({
    plugins: [
      failing(() => {
        throw new Error("secret at /home/somebody");
      }),
    ],
  });
  const error: unknown = await unknown.client
    .callTool({ name: "get" })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: -32603 });
  expect(String(error)).not.toContain("secret");
  expect((await fetch(`${unknown.url}/get`)).status).toBe(500);
});

it("the guide names codes that exist", () => {
  const [, table = ""] = /\| code +\| throw it when[^\n]*\n([^]*?)\n\n/.exec(page) ?? [];
  const codes = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, code]) => code!);
  expect(codes.length).toBeGreaterThan(7);
  expect(codes.filter((code) => !Object.hasOwn(ERROR_STATUS, code))).toEqual([]);
});

it("the presets of the reference set an argument, which callers neither see nor change", async () => {
  const weather = await fakeUpstream({
    forecast: {
      input: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "number" } },
        required: ["city", "days"],
      },
      run: (args) => JSON.stringify(args),
    },
  });
  const tools = { "weather/forecast": { name: "forecast_tokyo", values: { city: "Tokyo" } } };
  const { client } = await setupGateway({
    plugins: [presets],
    config: { plugins: { presets: { tools } }, servers: { weather: { url: weather.url } } },
  });
  const { tools: listed } = await client.listTools();
  expect(listed).toMatchObject([
    { inputSchema: { properties: { days: { type: "number" } }, required: ["days"] } },
  ]);
  const { name } = listed[0]!;
  expect(name).toMatch(/forecast_tokyo$/);
  expect(await client.callTool({ name, arguments: { days: 1, city: "Rome" } })).toMatchObject({
    content: [{ text: '{"days":1,"city":"Tokyo"}' }],
  });
});
