import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { describe, expect, it } from "vitest";
import { definePlugin, type Json } from "../../../core/index.ts";
import { outputFlaw } from "../../../core/server/schema-flaws.ts";
import { doubtsOf } from "../../../core/server/schema-doubts.ts";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import { until } from "../../kit/until.ts";

/** A stdio server with these tools, which answers every call. */
function speaker(tools: string): { command: string; args: string[] } {
  const script = `
    const deep = (levels) => levels === 0 ? {} : { type: "object", properties: { a: deep(levels - 1) } };
    const tools = ${tools};
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const result = method === "initialize"
        ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }
        : method === "tools/list" ? { tools }
        : { content: [{ type: "text", text: JSON.stringify(params?.arguments ?? null) }], structuredContent: { id: "a" } };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });`;
  return { command: process.execPath, args: ["-e", script] };
}

const good = definePlugin({
  name: "good",
  setup(gateway) {
    for (const name of ["one", "two", "three"])
      gateway.tool(name, { description: name, run: () => name });
  },
});

async function start(tools: string, options: { safeKeys?: boolean } = {}) {
  const { gateway } = await setupGateway({
    plugins: [good],
    config: {
      servers: { odd: { ...speaker(tools), ...options } },
      endpoints: { mcp: { naming: "none" } },
    },
    client: false,
  });
  const odd = await until(() => gateway.info.servers.get("odd"));
  await until(() => odd.status.state === "ready" || odd.status.state === "degraded");
  const client = await connectClient(gateway.endpoints[0]!.url);
  const rows = collectWarnings(gateway).filter(({ code }) => code === "lists");
  return { client, odd, rows };
}

describe("admission", () => {
  it("rest-02: an output schema that is no ECMAScript takes nobody's tools from the official client", async () => {
    const { client, rows } = await start(`[
      { name: "odd", inputSchema: { type: "object" }, outputSchema: { type: "object", properties: { id: { type: "string", pattern: "^(?P<x>a)$" } } } },
      { name: "union", inputSchema: { type: "object", properties: { "filter[x]": { type: "array" } }, anyOf: [{}] } },
    ]`);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      "odd",
      "one",
      "three",
      "two",
      "union",
    ]);
    expect(tools.find(({ name }) => name === "odd")).not.toHaveProperty("outputSchema");
    const { structuredContent } = await client.callTool({ name: "odd", arguments: {} });
    expect(structuredContent).toEqual({ id: "a" });
    expect(rows).toMatchObject([{ path: ["servers", "odd"] }]);
    expect(rows[0]!.message).toContain('tools "odd": outputSchema alone: it has a pattern');
    expect(rows[0]!.message).toContain(
      'the key "filter[x]", an array without items (some clients refuse it)',
    );
  });

  it.each([65, 100, 600])(
    "mcp-20: a schema of %i levels leaves out its tool alone",
    async (levels) => {
      const { client, odd, rows } = await start(`[
      { name: "before", inputSchema: { type: "object" } },
      { name: "deep", inputSchema: deep(${levels}) },
      { name: "out", inputSchema: { type: "object" }, outputSchema: deep(${levels}) },
      { name: "after", description: 'a "{[" in a text', inputSchema: { type: "object" } },
    ]`);
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names.toSorted()).toEqual(["after", "before", "one", "out", "three", "two"]);
      expect(odd.status.state).toBe("ready");
      expect(rows[0]!.message).toContain('tools "deep": inputSchema nests deeper');
      expect(rows[0]!.message).toContain('tools "out": outputSchema alone');
    },
  );

  it("mcp-23: safeKeys shows other keys and sends the server its own", async () => {
    const tool = `[{ name: "find", inputSchema: { type: "object", required: ["filter[name]"], properties: { "filter[name]": { type: "string" }, "filter name": {}, filter_name: {}, $top: {} } } }]`;
    const { client } = await start(tool, { safeKeys: true });
    const { tools } = await client.listTools();
    const { properties, required } = tools.find(({ name }) => name === "find")!.inputSchema;
    const keys = Object.keys(properties!);
    expect(keys).toEqual(["filter_name_2", "filter_name_3", "filter_name", "top"]);
    expect(required).toEqual(["filter_name_2"]);
    const args = { filter_name_2: "a", filter_name: "b", top: 3, other: 4 };
    const { content } = await client.callTool({ name: "find", arguments: args });
    expect(JSON.parse((content as { text: string }[])[0]!.text)).toEqual({
      "filter[name]": "a",
      filter_name: "b",
      $top: 3,
      other: 4,
    });
  });

  const nested = (schema: Json): Json => ({
    type: "object",
    properties: { a: { anyOf: [schema] } },
  });
  it.each<[string, unknown]>([
    ["a list", []],
    ["patternProperties", { patternProperties: { "(?i)x": {} } }],
    ["a nested pattern", nested({ pattern: "\\\\Z(?<!" })],
    ["$recursiveAnchor", nested({ $recursiveAnchor: true })],
    ["examples", nested({ examples: { a: 1 } })],
    ["an unknown type", nested({ type: "strnig" })],
    ["an empty enum", nested({ enum: [] })],
    ["a bound that is a flag, as in draft 4", nested({ exclusiveMinimum: true })],
    ["nullable without a type", nested({ nullable: true })],
    ["a reference to nothing", nested({ $ref: "#/$defs/none" })],
    ["a reference to elsewhere", nested({ $ref: "https://example.com/schema.json" })],
    ["a part that is no schema", nested({ not: 7 })],
    ["more than 20 KB", nested({ description: "x".repeat(20_500) })],
  ])("leaves out an output schema with %s", (_what, schema) => {
    expect(outputFlaw(schema)).toBeTypeOf("string");
  });

  it("leaves what is right as it is", () => {
    const schema = {
      $defs: { id: { type: ["string", "null"], pattern: "^\\p{L}+$" } },
      type: "object",
      properties: { pattern: { $ref: "#/$defs/id" }, type: { enum: [1, null] }, items: true },
      patternProperties: { "^x-": {} },
      additionalProperties: false,
      examples: [{}],
      required: ["pattern"],
    };
    expect(outputFlaw(schema)).toBeUndefined();
    expect(doubtsOf([{ name: "a", inputSchema: { ...schema } }])).toEqual([]);
  });

  it("a schema that nests without end is found out without going to its end", () => {
    let schema: Json = {};
    for (let level = 0; level < 100_000; level++) schema = { not: schema };
    expect(outputFlaw(schema)).toContain("nests deeper");
    expect(doubtsOf([{ name: "a", inputSchema: { enum: [1, 1] } }])).toMatchObject([
      { why: "an enum with a value twice", isKept: true },
    ]);
  });
});
