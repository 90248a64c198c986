import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createGateway, definePlugin, type Json } from "../../../core/index.ts";
import { setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import a2a from "../../../plugins/a2a/index.ts";
import { until } from "../../fixtures/until.ts";
import { factsOf, say, settled, startBridge, textOf } from "./kit.ts";

/** Tools that the far gateway serves as skills. */
const tools = definePlugin({
  name: "work",
  setup(gateway) {
    gateway.tool("echo", {
      description: "Says it back.",
      input: z.object({ text: z.string() }),
      run: ({ text }) => `heard ${text}`,
    });
    gateway.tool("facts", {
      description: "Tells facts.",
      input: z.object({ text: z.string() }),
      run: ({ text }) => ({ text, length: text.length }),
    });
    gateway.tool("linger", {
      description: "Runs until it is cancelled.",
      input: z.object({ text: z.string() }),
      run: (_, { progress, signal }) => {
        progress?.({ progress: 1, message: "lingering" });
        running.add(signal);
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("cancelled"))),
        );
      },
    });
  },
});
const running = new Set<AbortSignal>();

const SKILLS = ["echo", "facts", "linger"].map((name) => ({
  id: name,
  tool: { server: "work", name },
}));

function startFar(): Promise<TestGateway> {
  return setupGateway({
    plugins: [tools, [a2a, { listener: "main", path: "/", skills: SKILLS }]],
    client: false,
  });
}

describe.each(["1.0", "contract-v1"] as const)("gateway to gateway in %s", (dialect) => {
  const reach = async (far: TestGateway, options: Json = {}) =>
    startBridge({ url: far.url, dialect, ...options });

  it("a tool there is a tool here", async () => {
    const far = await startFar();
    const { gateway, client } = await reach(far);
    expect(gateway.servers.get("agent")!.status).toMatchObject({
      state: "ready",
      protocolVersion: dialect,
    });
    const call = (name: string) => client.callTool({ name, arguments: { message: "hello" } });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "echo",
      "facts",
      "linger",
    ]);
    const echoed = await call("echo");
    expect(textOf(echoed)).toBe("heard hello");
    expect(factsOf(echoed).state).toBe("completed");
    expect(await call("facts")).toMatchObject({ structuredContent: { text: "hello", length: 5 } });
  });

  it("what is cancelled here is cancelled there", async () => {
    const far = await startFar();
    const { gateway } = await reach(far);
    running.clear();
    const caller = new AbortController();
    const call = gateway.call({
      server: "agent",
      name: "linger",
      args: { message: "hello" },
      signal: caller.signal,
      progress() {},
    });
    await until(() => running.size === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    const [there] = running;
    await until(() => there!.aborted);
  });

  it("a message with an unknown skill, and a gateway that drains, are told of", async () => {
    const far = await startFar();
    const { gateway } = await reach(far);
    await expect(say(gateway, "hello")).rejects.toThrow(/talk/);
    far.gateway.drain();
    const refused = gateway.call({ server: "agent", name: "echo", args: { message: "hello" } });
    const outcome = await refused.then(
      ({ result }) => textOf(result!),
      (error: Error) => error.message,
    );
    expect(outcome).toBe('Server "agent" takes no work now (HTTP 503).');
  });
});

describe("the plugin a2a without skills", () => {
  it("serves nothing itself, and brings servers of type a2a", async () => {
    const far = await startFar();
    const { gateway, client } = await setupGateway({
      plugins: [a2a],
      config: { servers: { far: { type: "a2a", url: far.url } } },
    });
    await settled(gateway, "far");
    expect(gateway.describe().listeners.map(({ name }) => name)).toEqual(["main"]);
    const { tools: listed } = await client.listTools();
    expect(listed.map(({ name }) => name)).toEqual(["echo", "facts", "linger"]);
  });

  it("is named where it is missing", async () => {
    const url = "http://agent.example";
    await expect(
      createGateway({ listeners: { main: { port: 0 } }, servers: { far: { type: "a2a", url } } }),
    ).rejects.toMatchObject({ hint: expect.stringMatching(/plugins.*a2a|a2a.*plugins/) as string });
  });
});
