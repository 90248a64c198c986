import { describe, expect, it } from "vitest";
import { definePlugin, GatewayError, type AnyPlugin } from "../../../core/index.ts";
import { type Reshape, Reshapes } from "../../../core/kit.ts";
import { fakeUpstream, setupGateway } from "../../../core/testing/index.ts";
import openapi from "../../../plugins/openapi/index.ts";

const reshaping = (name: string, ...reshapes: readonly Reshape[]): AnyPlugin =>
  definePlugin({
    name,
    setup(gateway) {
      for (const each of reshapes) gateway.add(Reshapes, each);
    },
  });

const CITY = {
  type: "object" as const,
  properties: { city: { type: "string" }, days: { type: "number" } },
  required: ["city"],
};

async function startWeather() {
  return fakeUpstream({
    forecast: { description: "Tells it.", input: CITY, run: (args) => JSON.stringify(args) },
    fails: () => ({ content: [{ type: "text", text: "no" }], isError: true }),
    delete_all: () => "gone",
  });
}

const inTokyo: Reshape = {
  server: "weather",
  tool: (tool) =>
    tool.name === "forecast"
      ? {
          entry: {
            ...tool,
            name: "tokyo",
            description: "Of Tokyo.",
            inputSchema: { type: "object" },
          },
          args: (args) => ({ ...args, city: "Tokyo" }),
          result: (result) => ({ ...result, structuredContent: { asked: true } }),
        }
      : undefined,
};

describe("reshape", () => {
  it("changes a tool in every list, and gives its server its own form", async () => {
    const weather = await startWeather();
    const { client, url, gateway } = await setupGateway({
      plugins: [reshaping("r", inTokyo), openapi],
      config: { servers: { weather: { url: weather.url } } },
    });
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names.some((name) => name.endsWith("tokyo"))).toBe(true);
    expect(names.some((name) => name.endsWith("forecast"))).toBe(false);
    const tokyo = tools.find(({ name }) => name.endsWith("tokyo"))!;
    expect(tokyo).toMatchObject({ description: "Of Tokyo.", inputSchema: { type: "object" } });
    expect(await client.callTool({ name: tokyo.name, arguments: { days: 2 } })).toMatchObject({
      content: [{ type: "text", text: '{"days":2,"city":"Tokyo"}' }],
      structuredContent: { asked: true },
    });
    expect(weather.calls).toMatchObject([{ tool: "forecast", args: { days: 2, city: "Tokyo" } }]);
    // The same over HTTP, and inside the process.
    const answer = await fetch(`${url}/weather/tokyo`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(await answer.json()).toMatchObject({ result: { asked: true } });
    const document = await (await fetch(`${url}/weather/openapi.json`)).text();
    expect(document).toContain("/tokyo");
    expect(document).not.toContain("forecast");
    const own = await gateway.call({ server: "weather", name: "tokyo" });
    expect(own.result).toMatchObject({ structuredContent: { asked: true } });
  });

  it("leaves no way to the form that it replaces", async () => {
    const weather = await startWeather();
    const { client, gateway, url } = await setupGateway({
      plugins: [reshaping("r", inTokyo), openapi],
      config: { servers: { weather: { url: weather.url } } },
    });
    await client.listTools();
    const refused = await gateway.call({ server: "weather", name: "forecast" });
    expect(refused.error).toMatchObject({ code: -32602 });
    for (const name of ["forecast", "weather__forecast", "weather_forecast"])
      await expect(client.callTool({ name, arguments: { city: "Rome" } })).rejects.toThrow(
        /[Uu]nknown tool/,
      );
    const response = await fetch(`${url}/weather/forecast`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(404);
    expect(weather.calls).toEqual([]);
  });

  it("is composed in the order of the plugins, and undone in the other", async () => {
    const weather = await startWeather();
    const step = (word: string): Reshape => ({
      server: "wea*",
      tool: (tool) => ({
        entry: { ...tool, name: `${tool.name}_${word}` },
        args: (args) => ({ ...args, way: `${(args["way"] as string | undefined) ?? ""}${word}` }),
        result: (result) => ({
          ...result,
          said: `${(result["said"] as string | undefined) ?? ""}${word}`,
        }),
      }),
    });
    const { gateway, client } = await setupGateway({
      plugins: [reshaping("b", step("b")), reshaping("a", step("a"))],
      config: { servers: { weather: { url: weather.url } } },
    });
    await client.listTools();
    const { result } = await gateway.call({ server: "weather", name: "forecast_a_b" });
    expect(result).toMatchObject({ said: "ab" });
    expect(weather.calls[0]!.args).toEqual({ way: "ba" });
  });

  it("maps neither errors nor the entries of other servers", async () => {
    const weather = await startWeather();
    const other = await startWeather();
    const { gateway, client } = await setupGateway({
      plugins: [
        reshaping("r", {
          server: "weather",
          tool: (tool) => ({ entry: tool, result: () => ({ content: [] }) }),
        }),
      ],
      config: { servers: { weather: { url: weather.url }, other: { url: other.url } } },
    });
    await client.listTools();
    const failed = await gateway.call({ server: "weather", name: "fails" });
    expect(failed.result).toMatchObject({ isError: true, content: [{ text: "no" }] });
    const mapped = await gateway.call({ server: "weather", name: "delete_all" });
    expect(mapped.result).toEqual({ content: [] });
    const plain = await gateway.call({ server: "other", name: "delete_all" });
    expect(plain.result).toMatchObject({ content: [{ text: "gone" }] });
  });

  it("leaves out what cannot be changed, and what takes the name of another", async () => {
    const weather = await startWeather();
    const { client, gateway } = await setupGateway({
      plugins: [
        reshaping("r", {
          server: "weather",
          tool(tool) {
            if (tool.name === "forecast") throw new Error("not today");
            if (tool.name === "delete_all") return { entry: { ...tool, name: "fails" } };
            return undefined;
          },
        }),
      ],
      config: { servers: { weather: { url: weather.url } } },
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toHaveLength(1);
    expect(tools[0]!.name).toMatch(/fails$/);
    expect(gateway.info.servers.get("weather")!.leftOut).toEqual([
      {
        kind: "tools",
        name: "forecast",
        why: "plugin r could not change it: Error: not today",
      },
      { kind: "tools", name: "delete_all", why: 'its new name "fails" belongs to another entry' },
    ]);
    const refused = await gateway.call({ server: "weather", name: "delete_all" });
    expect(refused.error).toMatchObject({ code: -32602 });
    expect(weather.calls).toEqual([]);
  });

  it.each<[string, () => object, string]>([
    ["a text", () => "x" as never, "internal"],
    ["a promise", () => Promise.resolve({}), "internal"],
    [
      "an error of its own",
      () => {
        throw new GatewayError("invalid", "There is no such city.");
      },
      "invalid",
    ],
  ])("arguments that become %s refuse the call before it is sent", async (_what, args, code) => {
    const weather = await startWeather();
    const { gateway, client } = await setupGateway({
      plugins: [
        reshaping("r", {
          server: "weather",
          tool: (tool) => ({ entry: tool, args: args as never }),
        }),
      ],
      config: { servers: { weather: { url: weather.url } } },
    });
    await client.listTools();
    await expect(gateway.call({ server: "weather", name: "delete_all" })).rejects.toMatchObject({
      code,
    });
    expect(weather.calls).toEqual([]);
  });

  it("the config selects by the names of the server", async () => {
    const weather = await startWeather();
    const { client, gateway } = await setupGateway({
      plugins: [reshaping("r", inTokyo)],
      config: {
        servers: { weather: { url: weather.url, tools: { exclude: ["forecast", "fails"] } } },
      },
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([expect.stringMatching(/delete_all$/)]);
    const refused = await gateway
      .call({ server: "weather", name: "tokyo" })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "not_found" });
  });

  it("changes texts of resources and prompts, and no address", async () => {
    const owner = definePlugin({
      name: "owner",
      setup(gateway) {
        gateway.resource("a", { uri: "x://a", description: "A.", read: () => ({ text: "a" }) });
        gateway.resource("b", { uri: "x://b", description: "B.", read: () => ({ text: "b" }) });
        gateway.prompt("greet", {
          arguments: [{ name: "who" }],
          get: ({ who }) => ({ role: "user", content: { type: "text", text: `Greet ${who}.` } }),
        });
      },
    });
    const { client } = await setupGateway({
      plugins: [
        owner,
        reshaping("r", {
          server: "owner",
          resource: (resource) =>
            resource.uri === "x://a"
              ? { ...resource, description: "Changed." }
              : { ...resource, uri: "x://c" },
          prompt: (prompt) => ({
            entry: { ...prompt, name: "greet_ada", arguments: [] },
            args: () => ({ who: "Ada" }),
          }),
        }),
      ],
    });
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri: "x://a", description: "Changed." }]);
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual([expect.stringMatching(/greet_ada$/)]);
    const { messages } = await client.getPrompt({ name: prompts[0]!.name });
    expect(messages).toMatchObject([{ content: { text: "Greet Ada." } }]);
  });

  it("refuses what is not a reshape", async () => {
    for (const reshape of [
      undefined,
      {},
      { server: "x" },
      { server: "x", tool: 1 },
      { tool: () => {} },
    ])
      await expect(
        setupGateway({ plugins: [reshaping("r", reshape as never)], client: false }),
      ).rejects.toThrow(/reshape|a point and then a value/);
  });

  it("a reload with the same reshape keeps what stands", async () => {
    const weather = await startWeather();
    const { gateway, client } = await setupGateway({
      plugins: [reshaping("r", inTokyo)],
      config: { servers: { weather: { url: weather.url } } },
    });
    await client.listTools();
    const before = gateway.info.servers.get("weather");
    await gateway.apply({
      listeners: { main: { port: 0 } },
      plugins: { r: {} },
      servers: { weather: { url: weather.url } },
    });
    expect(gateway.info.servers.get("weather")).toBe(before);
    await gateway.apply({
      listeners: { main: { port: 0 } },
      servers: { weather: { url: weather.url } },
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).some((name) => name.endsWith("forecast"))).toBe(true);
  });
});
