import { describe, expect, it } from "vitest";
import { startAgent, type AgentSetup } from "./agent.ts";
import { until } from "../../kit/until.ts";
import { factsOf, say, startBridge, textOf } from "./kit.ts";

const FACES: readonly (readonly [string, AgentSetup])[] = [
  ["A2A 1.0, JSON-RPC, streaming", {}],
  ["A2A 1.0, JSON-RPC, no streaming", { streaming: false }],
  ["A2A 1.0, HTTP+JSON, streaming", { binding: "HTTP+JSON" }],
  ["A2A 1.0, HTTP+JSON, no streaming", { binding: "HTTP+JSON", streaming: false }],
  ["A2A 0.3, streaming", { dialect: "0.3" }],
  ["A2A 0.3, no streaming", { dialect: "0.3", streaming: false }],
];

describe.each(FACES)("an agent of %s", (_, setup) => {
  it("has its skills as tools, and answers", async () => {
    const agent = await startAgent(setup);
    const { gateway, client } = await startBridge({ url: agent.url });
    expect(gateway.servers.get("agent")!.status).toMatchObject({
      state: "ready",
      transport: "a2a",
      protocolVersion: setup.dialect ?? "1.0",
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["talk", "ber_rechnen_2"]);
    expect(tools[0]).toMatchObject({
      title: "Talk",
      description: "Talks.\n\nExamples:\n- hello",
      inputSchema: { type: "object", required: ["message"], additionalProperties: false },
    });
    const result = await client.callTool({ name: "talk", arguments: { message: "you" } });
    expect(result).toMatchObject({ content: [{ type: "text", text: "hello, you" }] });
    expect(result.isError).toBeUndefined();
    expect(factsOf(result)).toEqual({
      taskId: expect.any(String) as string,
      contextId: expect.any(String) as string,
      state: "completed",
    });
    expect(agent.script.messages[0]).toMatchObject({ metadata: { skill: "talk" } });
  });

  it("is cancelled when the MCP client cancels", async () => {
    const agent = await startAgent(setup);
    const { client } = await startBridge({ url: agent.url });
    const caller = new AbortController();
    const call = client.callTool({ name: "talk", arguments: { message: "wait" } }, undefined, {
      signal: caller.signal,
    });
    await until(() => agent.script.working.size === 1);
    const [task] = agent.script.working;
    caller.abort("no longer wanted");
    await expect(call).rejects.toThrow(/no longer wanted/);
    await until(() => agent.script.cancelled.length === 1);
    expect(agent.script.cancelled).toEqual([task]);
  });

  it("tells of its progress, its artifact put together", async () => {
    const agent = await startAgent(setup);
    const { client } = await startBridge({ url: agent.url });
    const told: { progress: number; message?: string | undefined }[] = [];
    const call = client.callTool({ name: "talk", arguments: { message: "wait" } }, undefined, {
      onprogress: (progress) => void told.push(progress),
    });
    await until(() => told.some(({ message }) => message === "waiting"));
    agent.script.open();
    expect(textOf(await call)).toBe("before after");
    const values = told.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  });

  it("goes on with a task that waits for input, and for the one who was told of it only", async () => {
    const agent = await startAgent(setup);
    const { gateway } = await startBridge({ url: agent.url });
    const asked = await say(gateway, "ask which colour?");
    const { taskId, contextId, state } = factsOf(asked);
    expect(state).toBe("input-required");
    expect(asked).toMatchObject({
      structuredContent: { state, question: "which colour?", taskId, contextId },
    });
    expect(asked["isError"]).toBeUndefined();
    expect(await say(gateway, "blue", { taskId })).toMatchObject({
      content: [{ text: "you said blue" }],
    });
    const ids = agent.script.messages.map((message) => message.messageId);
    expect(new Set(ids).size).toBe(2);
  });

  it("fails as a tool does, with its reason", async () => {
    const agent = await startAgent(setup);
    const { gateway } = await startBridge({ url: agent.url });
    for (const [verb, state] of [
      ["fail", "failed"],
      ["reject", "rejected"],
    ] as const) {
      const result = await say(gateway, `${verb} no such file`);
      expect(result).toMatchObject({ isError: true, content: [{ text: "no such file" }] });
      expect(factsOf(result).state).toBe(state);
    }
  });
});
