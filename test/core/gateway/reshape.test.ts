import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  Answer,
  type AnyPlugin,
  type Call,
  definePlugin,
  GatewayError,
  type Tool,
} from "../../../core/index.ts";
import { type ServerEvent, makeCatalogue, type Reshape, Reshapes } from "../../../core/kit.ts";
import { EMPTY_CATALOGUE } from "../../../core/internal.ts";
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
        why: "plugin r could not change it",
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

  describe("a plugin's own tool", () => {
    const files = definePlugin({
      name: "files",
      setup(gateway) {
        gateway.tool("del", {
          description: "Deletes.",
          timeout: 5_000,
          input: z.strictObject({
            path: z.string().regex(/^[a-z]+$/),
            mode: z.string().default("soft"),
          }),
          run: (args) => JSON.stringify(args),
        });
      },
    });
    const remove = (tool?: Reshape["tool"]): AnyPlugin =>
      reshaping("r", {
        server: "files",
        tool: tool ?? ((entry) => ({ entry: { ...entry, name: "remove" } })),
      });

    it("under another name is checked as under its own, and has its time", async () => {
      const { gateway } = await setupGateway({ plugins: [files, remove()], client: false });
      const call = (args: object) =>
        gateway.call({ server: "files", name: "remove", args: { ...args } });
      expect((await call({ path: "../../etc/passwd" })).isError).toBe(true);
      expect((await call({ path: "a", evil: 1 })).isError).toBe(true);
      expect((await call({ path: "a" })).result).toMatchObject({
        content: [{ text: '{"path":"a","mode":"soft"}' }],
      });
      const asked = { method: "tools/call", server: "files", name: "remove" } as const;
      expect(gateway.info.timeouts(asked).tool).toBe(5_000);
    });

    it("is checked with the arguments that it gets", async () => {
      const plugins = [files, remove((tool) => ({ entry: tool, args: () => ({ path: "set" }) }))];
      const { gateway } = await setupGateway({ plugins, client: false });
      const answer = await gateway.call({ server: "files", name: "del", args: {} });
      expect(answer.result).toMatchObject({ content: [{ text: '{"path":"set","mode":"soft"}' }] });
    });

    it("is not changed by what a plugin does to the entry it is given", async () => {
      const plugins = [
        files,
        remove((tool) => {
          Object.assign(tool, { name: "other", description: "x" });
          delete tool.inputSchema["required"];
          return { entry: tool };
        }),
      ];
      const { gateway } = await setupGateway({ plugins, client: false });
      const server = (): unknown => gateway.info.servers.get("files")!.catalogue.tools;
      expect(server()).toMatchObject([{ name: "other", description: "x" }]);
      await gateway.apply({ listeners: { main: { port: 0 } }, plugins: { files: {} } });
      expect(server()).toMatchObject([
        { name: "del", description: "Deletes.", inputSchema: { required: ["path"] } },
      ]);
    });
  });

  it("arguments changed in place are seen by nobody outside", async () => {
    const weather = await startWeather();
    const seen: unknown[] = [];
    const watcher = definePlugin({
      name: "watcher",
      setup: (gateway) =>
        gateway.use("observe", async (call, next) => {
          const answer = await next(call);
          seen.push(call.args);
          return answer;
        }),
    });
    const { gateway } = await setupGateway({
      plugins: [
        watcher,
        reshaping("r", {
          server: "weather",
          tool: (tool) => ({
            entry: tool,
            args: (args) => Object.assign(args, { token: "secret" }),
          }),
        }),
      ],
      config: { servers: { weather: { url: weather.url } } },
      client: false,
    });
    // At once: a call waits for the lists of a server that is coming.
    await gateway.call({ server: "weather", name: "forecast", args: { city: "Rome" } });
    expect(weather.calls[0]!.args).toEqual({ city: "Rome", token: "secret" });
    expect(seen).toEqual([{ city: "Rome" }]);
  });

  it.each<[string, (tool: Tool) => unknown]>([
    ["what JSON cannot write", (tool) => ({ entry: { ...tool, _meta: { n: 10n } } })],
    [
      "a circle",
      (tool) => {
        const circle: { self?: unknown } = {};
        circle.self = circle;
        return { entry: { ...tool, _meta: circle } };
      },
    ],
    [
      "a strange throw",
      () => {
        // eslint-disable-next-line typescript/only-throw-error -- what a plugin in JavaScript may do
        throw Object.create(null);
      },
    ],
    ["a rejected promise", () => Promise.reject(new Error("late"))],
    ["an entry that is a promise", () => ({ entry: Promise.reject(new Error("late")) })],
    ["no function", (tool) => ({ entry: tool, args: {} })],
  ])("%s leaves the entry out and ends nothing", async (_what, tool) => {
    const owner = definePlugin({
      name: "owner",
      setup: (gateway) => void gateway.tool("t", { description: "T.", run: () => "x" }),
    });
    const { gateway } = await setupGateway({
      plugins: [
        owner,
        reshaping("r", { server: "owner", tool: tool as NonNullable<Reshape["tool"]> }),
      ],
      client: false,
    });
    expect(gateway.info.servers.get("owner")!.catalogue.tools).toEqual([]);
    const refused = await gateway.call({ server: "owner", name: "t" });
    expect(refused.error).toMatchObject({ code: -32602 });
  });

  it("of two entries with one name the second is no way around the first", async () => {
    const tool = (hint?: string) => ({
      name: "delete",
      inputSchema: { type: "object" as const },
      ...(hint !== undefined && { description: hint }),
    });
    const calls: string[] = [];
    const twice = definePlugin({
      name: "owner",
      setup: (gateway) =>
        gateway.server({
          name: "twice",
          catalogue: makeCatalogue({ tools: [tool("dangerous"), tool()] }),
          status: { state: "ready", since: new Date().toISOString(), attempts: 0, transport: "x" },
          request: ({ name }) => {
            calls.push(name);
            return Promise.resolve(Answer.result({ content: [] }));
          },
          on: () => () => {},
        }),
    });
    const { gateway } = await setupGateway({
      plugins: [
        twice,
        reshaping("r", {
          server: "twice",
          tool: (entry) =>
            entry.description === undefined ? undefined : { entry: { ...entry, name: "safe" } },
        }),
      ],
      client: false,
    });
    expect((await gateway.call({ server: "twice", name: "delete" })).error).toBeDefined();
    await gateway.call({ server: "twice", name: "safe" });
    expect(calls).toEqual(["delete"]);
  });

  it("a task is followed without its arguments, and its result is mapped", async () => {
    const server = definePlugin({
      name: "owner",
      setup: (gateway) =>
        gateway.server({
          name: "works",
          catalogue: makeCatalogue({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
          status: { state: "ready", since: new Date().toISOString(), attempts: 0, transport: "x" },
          request: () => Promise.resolve(Answer.result({ content: [] })),
          resume: ({ name }, task) =>
            Promise.resolve(Answer.result({ content: [], structuredContent: { name, task } })),
          on: () => () => {},
        }),
    });
    const { gateway } = await setupGateway({
      plugins: [
        server,
        reshaping("r", {
          server: "works",
          tool: (tool) => ({
            entry: { ...tool, name: "u" },
            args: ({ text }) => ({ text: (text as string).trim() }),
            result: (result) => ({ ...result, mapped: true }),
          }),
        }),
      ],
      client: false,
    });
    const works = gateway.info.servers.get("works")!;
    const call = { method: "tools/call", name: "u", signal: new AbortController().signal };
    const answer = await works.resume!(call as Call, "7");
    expect(answer.result).toMatchObject({
      structuredContent: { name: "t", task: "7" },
      mapped: true,
    });
  });

  it("calls and tasks wait for the lists of a server that is coming", async () => {
    const tools = [{ name: "t", inputSchema: { type: "object" as const } }];
    let state: "backoff" | "ready" = "backoff";
    let catalogue = EMPTY_CATALOGUE;
    const listeners = new Set<(event: ServerEvent) => void>();
    const answer = ({ name }: Call) =>
      Promise.resolve(Answer.result({ content: [], structuredContent: { name } }));
    const owner = definePlugin({
      name: "owner",
      setup: (gateway) =>
        gateway.server({
          name: "late",
          get catalogue() {
            return catalogue;
          },
          get status() {
            const since = new Date().toISOString();
            return { state, reason: "It is away.", since, attempts: 1, transport: "x" };
          },
          request: answer,
          resume: answer,
          on(listener) {
            listeners.add(listener);
            return () => listeners.delete(listener);
          },
        }),
    });
    const { gateway } = await setupGateway({
      plugins: [
        owner,
        reshaping("r", {
          server: "late",
          tool: (tool) => ({
            entry: { ...tool, name: "u" },
            result: (result) => ({ ...result, mapped: true }),
          }),
        }),
      ],
      client: false,
    });
    const late = gateway.info.servers.get("late")!;
    const signal = new AbortController().signal;
    const task = late.resume!({ method: "tools/call", name: "u", signal } as Call, "7");
    const call = gateway.call({ server: "late", name: "u" });
    const old = gateway.call({ server: "late", name: "t" });
    catalogue = makeCatalogue({ tools });
    state = "ready";
    for (const listener of listeners) listener({ type: "changed", lists: ["tools"] });
    expect((await task).result).toMatchObject({ mapped: true });
    expect((await call).result).toMatchObject({ structuredContent: { name: "t" }, mapped: true });
    expect((await old).error).toMatchObject({ code: -32602 });
  });

  it("completes what is shown and nothing else", async () => {
    const owner = definePlugin({
      name: "owner",
      setup: (gateway) =>
        void gateway.prompt("greet", {
          arguments: [{ name: "who" }, { name: "how" }],
          complete: (argument) => (argument === "who" ? ["secret"] : ["warmly"]),
          get: () => ({ role: "user", content: { type: "text", text: "x" } }),
        }),
    });
    const { gateway } = await setupGateway({
      plugins: [
        owner,
        reshaping("r", {
          server: "owner",
          prompt: (prompt) => ({
            entry: { ...prompt, name: "hail", arguments: [{ name: "how" }] },
          }),
        }),
      ],
      client: false,
    });
    const complete = async (name: string, argument: string) => {
      const ref = { type: "ref/prompt", name };
      const params = { ref, argument: { name: argument, value: "" } };
      const input = { method: "completion/complete", server: "owner", name, params } as const;
      const answer = await gateway.call(input);
      return answer.error?.code ?? (answer.result!["completion"] as { values: string[] }).values;
    };
    expect(await complete("greet", "who")).toBe(-32602);
    expect(await complete("hail", "who")).toEqual([]);
    expect(await complete("hail", "how")).toEqual(["warmly"]);
  });
});
