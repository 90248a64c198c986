import { definePlugin } from "../../../core/index.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createPrincipal } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import progress from "../../../plugins/progress/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ask, connect, setupTeam } from "./kit.ts";

const tools = definePlugin({
  name: "tools",
  setup(gateway) {
    gateway.tool("add", {
      description: "Adds.",
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    });
    gateway.tool("fail", {
      description: "Fails.",
      run: () => ({ content: [{ type: "text", text: "No luck." }], isError: true }),
    });
  },
});

const CODE = `
import { defineAgent } from "propylon/plugins/agents";
export default defineAgent({
  async run({ message, history, images, ask, call, progress }) {
    progress("looking around");
    const { text, data } = await call("tools", "add", { a: 1, b: 2 });
    const said: string = await ask("Sum is " + text, { system: "Be brief." });
    const failed = await call("tools", "fail").catch((error: Error) => error.message);
    const others = await call("tools", "hidden").catch((error: Error) => error.message);
    return [message, history.length, images.length, JSON.stringify(data), said, failed, others].join(" | ");
  },
});
`;

describe("an agent written in TypeScript", () => {
  it("is called like any other, asks its model and its tools, and says what it does", async () => {
    const { urlOf, model } = await setupTeam({
      cwd: makeFolder({ "agent.ts": CODE }),
      plugins: [tools, progress],
      agents: { coder: { file: "./agent.ts", servers: ["tools"], tools: { exclude: ["hidden"] } } },
      script: [{ text: "Three." }],
    });
    const client = await connect(urlOf("coder"));
    const messages: (string | undefined)[] = [];
    const history = [{ role: "user", content: "before" }];
    const call = { name: "coder", arguments: { message: "go", history } };
    const onprogress = ({ message }: { message?: string | undefined }) =>
      void messages.push(message);
    const { content } = await client.callTool(call, undefined, { onprogress });
    expect((content as { text: string }[])[0]!.text).toBe(
      'go | 1 | 0 | {"sum":3} | Three. | No luck. | The agent "coder" may not use tools/hidden.',
    );
    expect(model.requests[0]!.body["messages"]).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: 'Sum is {"sum":3}' },
    ]);
    expect(messages).toEqual([
      "coder/coder: looking around",
      "tools/add: started",
      "tools/add: completed",
      "coder step 1 (llm)",
      "tools/fail: started",
      "tools/fail: failed",
      "tools/hidden: started",
      "tools/hidden: failed",
    ]);
  });

  it.each([
    ["turns", { turns: 1 }, "ask('a'); await run.ask('b')", "1 model requests"],
    ["calls", { toolCalls: 0 }, "call('tools', 'add', { a: 1, b: 1 })", "0 tool calls"],
    ["time", { timeout: "50ms" }, "wait()", "0.05 seconds"],
  ])("has the same budgets: %s", async (_, limits, code, words) => {
    const wait = "run.wait = () => new Promise(() => {});";
    const { urlOf } = await setupTeam({
      cwd: makeFolder({
        "agent.ts": `export default { async run(run) { ${wait} await run.${code}; return "done"; } };`,
      }),
      plugins: [tools],
      agents: { coder: { file: "./agent.ts", servers: ["tools"], limits } },
      script: () => ({ text: "ok" }),
    });
    const said = await ask(await connect(urlOf("coder")), "coder", { message: "go" });
    expect(said).toEqual({ text: expect.stringContaining(words), isError: true });
  });

  it("that throws says nothing of how, but a GatewayError says what it says", async () => {
    const { urlOf } = await setupTeam({
      cwd: makeFolder({
        "agent.ts": `import { GatewayError } from "propylon";
         export default { run({ message }) {
           if (message === "tell") throw new GatewayError("invalid", "Ask me something else.");
           throw new Error("secret at /home/me");
         } };`,
      }),
      agents: { coder: { file: "./agent.ts" } },
    });
    const client = await connect(urlOf("coder"));
    const failed = { isError: true };
    expect(await ask(client, "coder", { message: "x" })).toEqual({
      text: 'The agent "coder" failed.',
      ...failed,
    });
    expect(await ask(client, "coder", { message: "tell" })).toEqual({
      text: "Ask me something else.",
      ...failed,
    });
  });
});

describe("a server presented as an agent", () => {
  /** Another gateway whose agent is the server here. */
  async function startElsewhere() {
    const plugin = definePlugin({
      name: "elsewhere",
      setup(gateway) {
        const run = ({ message }: { message: string }) => `elsewhere: ${message}`;
        const input = z.object({ message: z.string() });
        gateway.tool("harper", { description: "Answers elsewhere.", input, run });
        gateway.tool("get_health", { description: "Its own.", run: () => "its own" });
      },
    });
    const { url } = await setupGateway({ plugins: [plugin], client: false });
    return `${url}/mcp`;
  }

  it("has the server's tools on its endpoint, and what every agent has ahead of them", async () => {
    const { urlOf, service, gateway } = await setupTeam({
      agents: { far: { server: "remote" } },
      config: { servers: { remote: { url: await startElsewhere() } } },
    });
    await expect.poll(() => gateway.servers.get("remote")!.status.state).toBe("ready");
    onTestFinished(
      service().offer({
        name: "get_health",
        description: "Ours.",
        inputSchema: { type: "object" },
        run: (agent) => `${agent} here`,
      }),
    );
    const client = await connect(urlOf("far"));
    const { tools: listed } = await client.listTools();
    expect(listed.map(({ name, description }) => [name, description])).toEqual([
      ["get_health", "Ours."],
      ["harper", "Answers elsewhere."],
    ]);
    expect(await ask(client, "harper", { message: "hi" })).toEqual({
      text: "elsewhere: hi",
      isError: false,
    });
    expect((await ask(client, "get_health", {})).text).toBe("far here");
  });

  it("can be run like any other agent", async () => {
    const { service, gateway, list } = await setupTeam({
      agents: { far: { server: "remote" }, lost: { server: "remote", toolName: "get_health" } },
      config: { servers: { remote: { url: await startElsewhere() } } },
    });
    await expect.poll(() => gateway.servers.get("remote")!.status.state).toBe("ready");
    const principal = createPrincipal({ id: "me", kind: "user", roles: new Set(["caller"]) });
    const said = { role: "user", parts: [{ type: "text", text: "hi" }] } as const;
    const options = { signal: new AbortController().signal, principal };
    const result = await service().run("far", [said], options);
    expect([result.text, result.end, result.messages.length]).toEqual([
      "elsewhere: hi",
      "finished",
      2,
    ]);
    expect(list().map(({ servers }) => servers)).toEqual([["remote"], ["remote"]]);
    await expect(service().run("nobody", [said], options)).rejects.toThrow(
      'There is no agent "nobody".',
    );
  });
});

it("an agents block without agents is no mistake", async () => {
  const { gateway } = await setupGateway({ plugins: [agents], client: false });
  expect(gateway.endpoints.map(({ name }) => name)).toEqual(["mcp"]);
});
