import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  definePlugin,
  GatewayError,
  type PluginContext,
  type ToolReturn,
} from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";

/** A plugin of one tool, called with these arguments. */
async function call(
  returned: ToolReturn | (() => ToolReturn),
  more: object = {},
  args: Record<string, unknown> = {},
) {
  const plugin = definePlugin({
    name: "p",
    setup(gateway) {
      gateway.tool("t", {
        description: "",
        ...more,
        run: () => (typeof returned === "function" ? returned() : returned),
      });
    },
  });
  const { gateway } = await setupGateway({ plugins: [plugin], client: false });
  return (await gateway.call({ server: "p", name: "t", args })).result;
}

const with_ = (setup: (gateway: PluginContext<undefined, {}>) => void) =>
  setupGateway({ plugins: [definePlugin({ name: "p", setup })] });

describe("what a tool returns", () => {
  it.each([
    ["text", "hi", { content: [{ type: "text", text: "hi" }] }],
    [
      "data",
      { a: 1 },
      { content: [{ type: "text", text: '{"a":1}' }], structuredContent: { a: 1 } },
    ],
    ["a full result", { content: [], extra: 1 }, { content: [], extra: 1 }],
    [
      "a question",
      { resultType: "input_required", inputRequests: {} },
      { resultType: "input_required", inputRequests: {} },
    ],
    [
      "data that has a field named content",
      { content: "x" },
      { content: [{ type: "text", text: '{"content":"x"}' }], structuredContent: { content: "x" } },
    ],
  ])("%s", async (_, returned, expected) => {
    expect(await call(returned)).toEqual(expected);
  });

  it("a GatewayError is shown with its hint, anything else only logged", async () => {
    const fail = (error: unknown) => () => {
      throw error;
    };
    expect(
      await call(fail(new GatewayError("not_found", "No such book.", { hint: "See list_books." }))),
    ).toEqual({
      isError: true,
      content: [{ type: "text", text: "No such book. See list_books." }],
    });
    expect(await call(fail(new Error("password is hunter2")))).toEqual({
      isError: true,
      content: [{ type: "text", text: 'Tool "t" failed.' }],
    });
    expect(await call(null as never)).toMatchObject({ isError: true });
  });

  it("is held against the output schema", async () => {
    const output = z.object({ a: z.number() });
    expect(await call({ a: 1 }, { output })).toMatchObject({ structuredContent: { a: 1 } });
    expect(await call({ a: "x" }, { output })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("a: ") as string }],
    });
    expect(await call("text", { output })).toMatchObject({ isError: true });
  });
});

describe("arguments", () => {
  const zod = z.object({
    to: z.string(),
    options: z.object({ size: z.number().default(3) }).prefault({}),
  });
  const json = {
    type: "object",
    properties: {
      to: { type: "string" },
      options: { type: "object", properties: { size: { type: "number" } } },
    },
    required: ["to"],
  };

  it.each([
    ["zod", zod],
    ["JSON Schema", json],
  ])("a mismatch with %s names the field", async (_, input) => {
    expect(await call("", { input }, { options: { size: "x" } })).toMatchObject({
      isError: true,
      content: [
        {
          text: expect.stringMatching(
            /^Invalid arguments for tool "t": .*\bto\b.*options\.size: |options\.size: .*\bto\b/,
          ) as string,
        },
      ],
    });
    expect(await call("fine", { input }, { to: "x" })).toMatchObject({
      content: [{ text: "fine" }],
    });
  });

  it("a tool without input takes nothing, and says so", async () => {
    const { client, gateway } = await with_((g) => g.tool("t", { description: "", run: () => "" }));
    expect((await client.listTools()).tools[0]!.inputSchema).toEqual({
      type: "object",
      properties: {},
      additionalProperties: false,
    });
    expect((await gateway.call({ server: "p", name: "t" })).isError).toBe(false);
    expect((await gateway.call({ server: "p", name: "t", args: { x: 1 } })).isError).toBe(true);
  });

  it("reach the tool with zod's defaults", async () => {
    const { client } = await with_((g) =>
      g.tool("t", { description: "", input: zod, run: (args) => args }),
    );
    expect(
      (await client.callTool({ name: "t", arguments: { to: "x" } })).structuredContent,
    ).toEqual({ to: "x", options: { size: 3 } });
  });

  it("a schema that is no object is refused with the tool's name", async () => {
    await expect(
      with_((g) => g.tool("t", { description: "", input: { type: "string" }, run: () => "" })),
    ).rejects.toThrow(/Tool "t" has a schema/);
  });
});

describe("resources", () => {
  const setup = (gateway: PluginContext<undefined, {}>) => {
    const fixed = gateway.resource("fixed", {
      uri: "demo://fixed",
      mimeType: "text/plain",
      read: () => ({ text: "exact" }),
    });
    const byKind = gateway.resource("by kind", {
      uriTemplate: "demo://{kind}",
      read: ({ kind }) => [{ text: kind! }, { blob: "AA==", uri: "demo://other" }],
      complete: (_, value) => Array.from({ length: 150 }, (_none, index) => `${value}${index}`),
    });
    return { fixed, byKind };
  };

  it("an exact URI comes before a template; contents get the URI and type", async () => {
    const { client } = await with_(setup);
    expect((await client.readResource({ uri: "demo://fixed" })).contents).toEqual([
      { uri: "demo://fixed", mimeType: "text/plain", text: "exact" },
    ]);
    expect((await client.readResource({ uri: "demo://a%20b" })).contents).toEqual([
      { uri: "demo://a%20b", text: "a b" },
      { uri: "demo://other", blob: "AA==" },
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([
      { uriTemplate: "demo://{kind}", name: "by kind" },
    ]);
  });

  it("an unknown URI is an error that carries it", async () => {
    const { gateway } = await with_(setup);
    const answer = await gateway.call({
      server: "p",
      method: "resources/read",
      name: "demo://a/b",
    });
    expect(answer.error).toMatchObject({ code: -32602, data: { uri: "demo://a/b" } });
  });

  it("completion shows at most 100 values and says how many there are", async () => {
    const { client } = await with_(setup);
    const { completion } = await client.complete({
      ref: { type: "ref/resource", uri: "demo://{kind}" },
      argument: { name: "kind", value: "k" },
    });
    expect(completion).toMatchObject({ total: 150, hasMore: true });
    expect(completion.values).toHaveLength(100);
  });

  it("a subscriber hears of a change, nobody else does, and a list change reaches the client", async () => {
    let context!: PluginContext<undefined, {}>;
    let handles!: ReturnType<typeof setup>;
    const { client } = await with_((gateway) => {
      context = gateway;
      handles = setup(gateway);
    });
    const heard: string[] = [];
    const { promise: listChanged, resolve: wake } = deferred();
    client.fallbackNotificationHandler = async ({ method, params }) => {
      heard.push(`${method} ${(params?.["uri"] as string | undefined) ?? ""}`);
      if (method === "notifications/resources/list_changed") wake();
    };
    handles.fixed.updated();
    await client.subscribeResource({ uri: "demo://fixed" });
    handles.fixed.updated();
    handles.byKind.updated("demo://other");
    expect(() => handles.byKind.updated()).toThrow('Which resource of "by kind" was updated?');
    const late = context.resource("late", { uri: "demo://late", read: () => ({ text: "" }) });
    late.changed();
    await listChanged;
    expect(heard).toEqual([
      "notifications/resources/updated demo://fixed",
      "notifications/resources/list_changed ",
    ]);
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual([
      "demo://fixed",
      "demo://late",
    ]);
  });
});

describe("prompts", () => {
  const setup = (gateway: PluginContext<undefined, {}>) =>
    void gateway.prompt("ask", {
      description: "Asks.",
      arguments: [{ name: "what", required: true }, { name: "how" }],
      get: ({ what }) => [{ role: "user", content: { type: "text", text: `What is ${what}?` } }],
      complete: (argument, value) => (argument === "what" ? [`${value}!`] : []),
    });

  it("are listed and got", async () => {
    const { client } = await with_(setup);
    expect((await client.listPrompts()).prompts).toEqual([
      {
        name: "ask",
        description: "Asks.",
        arguments: [{ name: "what", required: true }, { name: "how" }],
      },
    ]);
    expect(await client.getPrompt({ name: "ask", arguments: { what: "love" } })).toMatchObject({
      description: "Asks.",
      messages: [{ role: "user", content: { type: "text", text: "What is love?" } }],
    });
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "ask" },
      argument: { name: "what", value: "a" },
    });
    expect(completion.values).toEqual(["a!"]);
  });

  it("a missing or odd argument is named", async () => {
    const { gateway } = await with_(setup);
    const get = async (args: Record<string, unknown>) =>
      (await gateway.call({ server: "p", method: "prompts/get", name: "ask", args })).error
        ?.message;
    expect(await get({})).toBe('Prompt "ask" needs the argument "what".');
    expect(await get({ what: 1 })).toBe('Argument "what" of prompt "ask" must be a string.');
  });
});

it("M106: declares only what it has, and hashes it the same every time", async () => {
  const setup = (gateway: PluginContext<undefined, {}>) =>
    gateway.tool("t", { description: "", run: () => "" });
  const [one, two] = [await with_(setup), await with_(setup)];
  const { capabilities, hash } = one.gateway.servers.get("p")!.catalogue;
  expect(capabilities).toEqual({ tools: { listChanged: true }, logging: {} });
  expect(two.gateway.servers.get("p")!.catalogue.hash).toBe(hash);
});
