import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createGateway, definePlugin, type Json } from "../../../core/index.ts";
import { setupGateway, type GatewaySetup, type TestGateway } from "../../../core/testing/index.ts";
import a2a from "../../../plugins/a2a/index.ts";
import { until } from "../../kit/until.ts";
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

describe("the plugin a2a-client", () => {
  const listed = async (setup: GatewaySetup, url: string): Promise<readonly string[]> => {
    const config = { ...setup.config, servers: { far: { type: "a2a", url } } };
    const { gateway, client } = await setupGateway({ ...setup, config });
    await settled(gateway, "far");
    expect(gateway.describe().listeners.map(({ name }) => name)).toEqual(["main"]);
    return (await client.listTools()).tools.map(({ name }) => name);
  };

  it("comes along with servers of type a2a, beside the plugin a2a without skills too", async () => {
    const { url } = await startFar();
    const names = ["echo", "facts", "linger"];
    expect(await listed({}, url)).toEqual(names);
    expect(await listed({ plugins: [a2a] }, url)).toEqual(names);
  });

  it("can be switched off, and is named where it is missing", async () => {
    const servers = { far: { type: "a2a", url: "http://agent.example" } };
    const plugins = { "a2a-client": false } as const;
    await expect(
      createGateway({ listeners: { main: { port: 0 } }, plugins, servers }),
    ).rejects.toMatchObject({ hint: "Leave out plugins.a2a-client: false, or this entry." });
  });
});
