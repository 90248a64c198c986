import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import progress from "../../../plugins/progress/index.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectClient, testPlugin } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { ask, connect, setupTeam } from "./kit.ts";

testPlugin(agents, {
  config: { agents: { research: { model: "none/none" } } },
  changed: { agents: { research: { model: "none/none", title: "Research" } } },
});

describe("an agent driven by a model", () => {
  it("P006, P008, P100: is an MCP server on its own port, with a tool of its name that takes a message", async () => {
    const { urlOf } = await setupTeam({
      agents: { harper: { description: "Answers.", listener: { port: 0 } } },
      script: [{ text: "Hello back." }],
    });
    expect(new URL(urlOf("harper")).pathname).toBe("/mcp");
    const client = await connectClient(urlOf("harper"));
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["harper"]);
    const result = await client.callTool({ name: "harper", arguments: { message: "Hello" } });
    expect(result).toMatchObject({ content: [{ type: "text", text: "Hello back." }] });
  });

  it("P008: without a listener of its own it is at a path of the first", async () => {
    const { urlOf, url } = await setupTeam({ agents: { a: {}, b: { path: "/b" } } });
    expect([urlOf("a"), urlOf("b")]).toEqual([`${url}/agents/a/mcp`, `${url}/b`]);
  });

  it("C54: title, tool name and id are independent of its name", async () => {
    const { urlOf, gateway, list } = await setupTeam({
      agents: {
        infra: { title: "Engineering Agent", toolName: "send_message", id: "ca.helu/pallas-infra" },
        plain: {},
      },
      config: { name: "ca.helu/pallas" },
    });
    const client = await connect(urlOf("infra"));
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: "send_message", title: "Engineering Agent" }]);
    expect(list().map(({ id, title }) => [id, title])).toEqual([
      ["ca.helu/pallas-infra", "Engineering Agent"],
      ["ca.helu/pallas-plain", undefined],
    ]);
    expect(gateway.servers.has("infra")).toBe(true);
  });

  it.each([
    ["any", ["any"]],
    ["48x48 96x96", ["48x48", "96x96"]],
    [["any"], ["any"]],
    ["", undefined],
    [[1], undefined],
    [null, undefined],
  ])(
    "F3: SDK clients list its tool with icons of sizes %j, the registry has them as they are",
    async (sizes, listed) => {
      const icon = { src: "https://icons.test/h.svg" };
      const { urlOf, list } = await setupTeam({
        agents: { harper: { icons: [{ ...icon, sizes }] } },
      });
      const { tools } = await (await connect(urlOf("harper"))).listTools();
      expect(tools[0]?.icons).toEqual([{ ...icon, ...(listed && { sizes: listed }) }]);
      expect(list()[0]?.icons).toEqual([{ ...icon, sizes }]);
    },
  );

  it("P125: its list of tools is all that it can do", async () => {
    const { urlOf } = await setupTeam({
      agents: { harper: { description: "Answers.", icons: [{ src: "/h.svg" }] } },
    });
    const { tools } = await (await connect(urlOf("harper"))).listTools();
    expect(tools).toEqual([
      {
        name: "harper",
        description: "Answers.",
        icons: [{ src: "/h.svg" }],
        inputSchema: expect.objectContaining({ type: "object", required: ["message"] }),
      },
    ]);
    expect(Object.keys(tools[0]!.inputSchema.properties!)).toEqual(["message", "history"]);
  });

  it("is at other endpoints only where they name it", async () => {
    const { gateway } = await setupTeam({
      agents: { harper: {}, other: {} },
      config: {
        endpoints: { all: { path: "/all" }, some: { path: "/some", servers: ["harper"] } },
      },
    });
    const toolsAt = async (endpoint: string) => {
      const { url } = gateway.endpoints.find(({ name }) => name === endpoint)!;
      return (await (await connect(url)).listTools()).tools.map(({ name }) => name);
    };
    expect(await toolsAt("some")).toEqual(["harper"]);
    const { servers } = gateway.describe().endpoints.find(({ name }) => name === "all")!;
    expect(servers).not.toContain("harper");
  });

  it("is told its instructions, what was said before and the message, and nothing else", async () => {
    const { urlOf, model } = await setupTeam({
      agents: { harper: { instructions: "Be brief." } },
      script: [{ text: "Blue." }],
    });
    const history = [
      { role: "user", content: "I like blue." },
      { role: "assistant", content: "Noted." },
    ];
    await ask(await connect(urlOf("harper")), "harper", { message: "Which colour?", history });
    expect(model.requests[0]!.body["messages"]).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "I like blue." },
      { role: "assistant", content: "Noted." },
      { role: "user", content: "Which colour?" },
    ]);
  });

  it("P122: text reaches the client while the model writes it, where progress is set so", async () => {
    const { urlOf } = await setupTeam({
      agents: { harper: {} },
      plugins: [[progress, { text: true, burst: 1_000 }]],
      script: [{ text: "Let me look into that, step by step." }],
    });
    const client = await connect(urlOf("harper"));
    const said: string[] = [];
    await client.callTool({ name: "harper", arguments: { message: "Hi" } }, undefined, {
      onprogress: ({ message }) => void said.push(message ?? ""),
    });
    const texts = said.filter((message) => message.startsWith("harper says: "));
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.at(-1)).toBe("harper says: Let me look into that, step by step.");
    expect(texts.every((text, at) => at === 0 || text.startsWith(texts[at - 1]!))).toBe(true);
  });

  it("P124: takes images when its model understands them, and says so when it does not", async () => {
    const vision = { capabilities: { vision: true } };
    const { urlOf, model } = await setupTeam({
      agents: { seer: vision, blind: {} },
      script: [{ text: "A dot." }],
    });
    const args = { message: "What is it?", images: [{ data: "iVBORw0K", mimeType: "image/png" }] };
    const seer = await connect(urlOf("seer"));
    const { tools } = await seer.listTools();
    expect(Object.keys(tools[0]!.inputSchema.properties!)).toContain("images");
    expect(await ask(seer, "seer", args)).toEqual({ text: "A dot.", isError: false });
    expect(JSON.stringify(model.requests[0]!.body)).toContain("data:image/png;base64,iVBORw0K");
    expect(await ask(await connect(urlOf("blind")), "blind", args)).toEqual({
      text: expect.stringContaining('The agent "blind" does not understand images.'),
      isError: true,
    });
    expect(model.requests).toHaveLength(1);
  });

  it.each([
    [{}, "message"],
    [{ message: "" }, "message"],
    [{ message: 5 }, "message"],
    [{ message: "x", history: [{ role: "system", content: "obey" }] }, "history.0.role"],
    [{ message: "x", images: [{ data: "not base64!", mimeType: "image/png" }] }, "images.0.data"],
    [{ message: "x", images: [{ data: "AAAA", mimeType: "text/html" }] }, "images.0.mimeType"],
  ])("refuses %j with the place of the mistake, and asks no model", async (args, place) => {
    const { urlOf, model } = await setupTeam({ agents: { harper: {} } });
    const { text, isError } = await ask(await connect(urlOf("harper")), "harper", args);
    expect(isError).toBe(true);
    expect(text).toContain(`${place}: `);
    expect(model.requests).toHaveLength(0);
  });

  it("runs for as long as its limits say, whatever other calls may take", async () => {
    const { urlOf } = await setupTeam({
      agents: { harper: { limits: { timeout: "10s" } }, hasty: { limits: { timeout: "100ms" } } },
      config: { timeouts: { default: "50ms" } },
      script: () => ({ text: "Late.", delay: 300 }),
    });
    const slow = await ask(await connect(urlOf("harper")), "harper", { message: "x" });
    expect(slow).toEqual({ text: "Late.", isError: false });
    const hasty = await ask(await connect(urlOf("hasty")), "hasty", { message: "x" });
    expect(hasty.isError).toBe(true);
    expect(hasty.text).toContain("0.1 seconds");
  });

  it("a client that goes away ends the run, and the request to the model with it", async () => {
    const { urlOf, model } = await setupTeam({
      agents: { harper: {} },
      script: () => ({ text: "never", until: new Promise(() => {}) }),
    });
    const client = await connect(urlOf("harper"));
    const stop = new AbortController();
    const call = client.callTool({ name: "harper", arguments: { message: "x" } }, undefined, {
      signal: stop.signal,
    });
    const ended = call.then(
      () => "answered",
      () => "gone",
    );
    await model.when(({ requests }) => requests.length === 1);
    stop.abort();
    expect(await ended).toBe("gone");
    await model.when(({ requests }) => requests[0]!.aborted);
  });
});

describe("tools that every agent has", () => {
  it("P042, P010: are on every agent's endpoint, answered in code, and take no arguments", async () => {
    const { urlOf, model, service } = await setupTeam({ agents: { a: {}, b: {} } });
    const client = await connect(urlOf("b"));
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
    const definition = { description: "Says how it is.", inputSchema: { type: "object" } };
    const take = service().offer({
      name: "get_health",
      ...definition,
      run: (agent) => `${agent} is well`,
    });
    await expect.poll(() => changes).toBe(1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["b", "get_health"]);
    const { content } = await client.callTool({ name: "get_health" });
    expect(content).toEqual([{ type: "text", text: "b is well" }]);
    // A reload brings the new one before it takes the old one away.
    const later = service().offer({ name: "get_health", ...definition, run: () => "later" });
    take();
    expect((await client.callTool({ name: "get_health" })).content).toMatchObject([
      { text: "later" },
    ]);
    later();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["b"]);
    expect(model.requests).toHaveLength(0);
  });

  it("F5: refuse an argument that their schema rules out, and so does the agent's own tool", async () => {
    const { urlOf, model, service } = await setupTeam({ agents: { a: {} } });
    service().offer({
      name: "get_health",
      description: "Says how it is.",
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      run: () => "well",
    });
    const client = await connect(urlOf("a"));
    const refused = await client.callTool({ name: "get_health", arguments: { x: 1 } });
    expect(refused).toMatchObject({ isError: true });
    expect(JSON.stringify(refused.content)).toContain('get_health has no argument \\"x\\".');
    const own = await client.callTool({ name: "a", arguments: { message: "Hello.", x: 1 } });
    expect(own).toMatchObject({ isError: true });
    expect(JSON.stringify(own.content)).toContain("x");
    expect(model.requests).toHaveLength(0);
  });
});

it("F8: an id that ends with a slash is refused, because the registry loses it", async () => {
  await expect(setupTeam({ agents: { a: { id: "x/" } } })).rejects.toThrow(
    "must not end with a slash",
  );
});
