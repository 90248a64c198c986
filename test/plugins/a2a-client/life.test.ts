import { describe, expect, it } from "vitest";
import { connectClient } from "../../../core/testing/index.ts";
import { startAgent } from "./agent.ts";
import { until } from "../../kit/until.ts";
import { agentConfig, factsOf, say, settled, startBridge, textOf } from "./kit.ts";

describe("a connection that breaks", () => {
  it("is resumed where the agent streams, and nothing is carried out twice", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const call = say(gateway, "wait");
    await until(() => agent.script.working.size === 1);
    const [task] = agent.script.working;
    agent.drop();
    await until(() => agent.asked().includes("SubscribeToTask"));
    agent.script.open();
    const result = await call;
    expect(textOf(result)).toBe("before after");
    expect(factsOf(result).taskId).toBe(task);
    expect(agent.script.messages).toHaveLength(1);
  });

  it("is followed by looks at the task where it does not", async () => {
    const agent = await startAgent({ streaming: false });
    const { gateway } = await startBridge({ url: agent.url });
    const call = say(gateway, "wait");
    await until(() => agent.asked().filter((method) => method === "GetTask").length > 1);
    agent.drop();
    agent.script.open();
    expect(textOf(await call)).toBe("before after");
    expect(agent.asked().filter((method) => method === "SendMessage")).toHaveLength(1);
  });

  it("with an agent that starts again: its task is found again, or missed with a reason", async () => {
    const before = await startAgent();
    const { gateway } = await startBridge({ url: before.url });
    const call = say(gateway, "wait");
    await until(() => before.script.working.size === 1);
    await before.kill();
    before.script.open();
    await until(() => before.script.working.size === 0);
    const { port, store } = before;
    const after = await startAgent({ port, store });
    expect(textOf(await call)).toBe("before after");
    const forgotten = say(gateway, "wait");
    await until(() => after.script.working.size === 1);
    await after.kill();
    await startAgent({ port });
    await expect(forgotten).rejects.toMatchObject({
      code: "upstream_error",
      message: 'Server "agent" has forgotten the task.',
    });
  });

  it("and does not come back is an upstream error after resume", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url, resumeTimeout: "100ms" });
    const call = say(gateway, "wait");
    await until(() => agent.script.working.size === 1);
    await agent.kill();
    await expect(call).rejects.toMatchObject({ code: "upstream_error" });
    await until(() => gateway.servers.get("agent")!.status.state === "degraded");
    expect(gateway.servers.get("agent")!.status.reason).toMatch(/connection was refused/);
    expect(gateway.servers.get("agent")!.catalogue.tools).toHaveLength(2);
  });

  it("before the message could leave: it is sent again under its own id", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    await agent.kill();
    const server = gateway.servers.get("agent")!;
    await server.reconnect!();
    expect(server.status.state).toBe("degraded");
    const call = say(gateway, "again");
    const after = await startAgent({ port: agent.port });
    expect(textOf(await call)).toBe("hello, again");
    expect(after.script.messages).toHaveLength(1);
  });
});

describe("a call", () => {
  it("asks the user of its client what the agent wants to know, and goes on", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url }, { client: false });
    const client = await connectClient(gateway.endpoints[0]!.url, {
      capabilities: { elicitation: {} },
    });
    const questions: unknown[] = [];
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message);
      return { action: "accept" as const, content: { answer: "blue" } };
    });
    const result = await client.callTool({
      name: "talk",
      arguments: { message: "ask which colour?" },
    });
    expect(questions).toEqual(["which colour?"]);
    expect(textOf(result)).toBe("you said blue");
    const [first, second] = agent.script.messages;
    expect(second).toMatchObject({ taskId: factsOf(result).taskId });
    expect(first!.messageId).not.toBe(second!.messageId);
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "decline" as const }));
    const declined = await client.callTool({ name: "talk", arguments: { message: "ask again?" } });
    expect(factsOf(declined).state).toBe("input-required");
    const secret = await client.callTool({ name: "talk", arguments: { message: "authorise me" } });
    expect(questions).toHaveLength(1);
    expect(factsOf(secret).state).toBe("auth-required");
    await client.close();
  });

  it("cancels a task that waits for a user when its client goes away", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const caller = new AbortController();
    let asked = false;
    const call = gateway.call({
      server: "agent",
      name: "talk",
      args: { message: "ask what?" },
      signal: caller.signal,
      peer: {
        key: "test",
        capabilities: { elicitation: {} },
        tell() {},
        ask(_method, _params, signal) {
          asked = true;
          return new Promise((_, reject) =>
            signal?.addEventListener("abort", () => reject(new Error("gone"))),
          );
        },
      },
    });
    await until(() => asked);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await until(() => agent.script.cancelled.length === 1);
  });

  it("T4: goes on with tasks and conversations of its own principal only", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const as = (id: string, args: object, kind: "user" | "key" = "user") =>
      gateway.call({
        server: "agent",
        name: "talk",
        args: { ...args },
        principal: { id, kind, roles: new Set(["caller"]) },
      });
    const asked = await as("alice", { message: "ask which?" });
    const { taskId, contextId } = factsOf(asked.result!);
    for (const ids of [{ taskId }, { contextId }, { taskId: "made-up" }]) {
      const refused = await as("mallory", { message: "mine", ...ids });
      expect(refused.result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^There is no task or conversation/) as string }],
      });
    }
    const namesake = await as("alice", { message: "mine", taskId }, "key");
    expect(namesake.result).toMatchObject({ isError: true });
    expect(agent.script.messages).toHaveLength(1);
    const report = await gateway.apply(agentConfig({ url: agent.url, refreshInterval: "10m" }));
    expect(report.servers.changed).toEqual(["agent"]);
    await settled(gateway);
    const answered = await as("alice", { message: "that one", taskId, contextId });
    expect(textOf(answered.result!)).toBe("you said that one");
  });

  it("T1: takes nothing of its caller's request along but arguments and trace context", async () => {
    const canary = "CANARY-7f3a";
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (const dialect of ["1.0", "0.3"] as const) {
      const agent = await startAgent({ dialect });
      const { client } = await startBridge(
        { url: agent.url, headers: { Authorization: "Bearer own" } },
        {
          client: {
            headers: {
              authorization: `Bearer ${canary}`,
              cookie: canary,
              "x-api-key": canary,
              "proxy-authorization": canary,
            },
          },
        },
      );
      const _meta = { traceparent, note: canary };
      await client.callTool({ name: "talk", arguments: { message: "hi" }, _meta });
      expect(JSON.stringify(agent.received)).not.toContain(canary);
      const [card, sent] = [agent.received[0]!, agent.received.at(-1)!];
      expect(card.headers.authorization).toBe("Bearer own");
      expect(sent.headers.authorization).toBe("Bearer own");
      expect(String(sent.headers["traceparent"])).toContain("4bf92f3577b34da6a3ce929d0e0e4736");
    }
  });

  it("is one of a hundred at the same time", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const calls = Array.from({ length: 100 }, (_, at) => say(gateway, `wait ${at}`));
    await until(() => agent.script.working.size === 100);
    agent.script.open();
    const results = await Promise.all(calls);
    expect(results.map(textOf)).toEqual(Array.from({ length: 100 }, () => "before after"));
    expect(new Set(results.map((result) => factsOf(result).taskId)).size).toBe(100);
  });

  it("ends at its deadline, and with the server, the task cancelled", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url, timeout: "200ms" });
    await expect(say(gateway, "wait")).rejects.toMatchObject({ code: "timeout" });
    await until(() => agent.script.cancelled.length === 1);
    const call = gateway.call({
      server: "agent",
      name: "talk",
      args: { message: "wait" },
      timeout: 60_000,
    });
    await until(() => agent.script.working.size === 1);
    const [end] = await Promise.allSettled([call, gateway.close({ grace: 0 })]);
    expect(end).toMatchObject({ status: "rejected", reason: { name: "GatewayError" } });
    expect(agent.script.cancelled).toHaveLength(2);
  });

  it("takes an event that is too large for the stream by looking at the task", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const text = "x".repeat(5 * 1024 * 1024);
    const result = await say(gateway, `parts ${JSON.stringify([{ text }])}`);
    expect(textOf(result)).toHaveLength(text.length);
    expect(agent.asked()).toContain("GetTask");
    expect(agent.script.messages).toHaveLength(1);
  });

  it.each([
    ["streamed", true],
    ["looked at", false],
  ])("has a bounded result: %s", async (_, streaming) => {
    const agent = await startAgent({ streaming });
    const { gateway } = await startBridge({ url: agent.url, maxResult: 50_000 });
    await expect(say(gateway, "huge")).rejects.toMatchObject({
      code: "result_too_large",
      data: { server: "agent", limit: 50_000 },
    });
  });
});

describe("what an agent made", () => {
  it("becomes the content it is", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const made = (...parts: object[]) => say(gateway, `parts ${JSON.stringify(parts)}`);
    const raw = "iVBORw0KGgo=";
    expect(
      await made(
        { text: "words" },
        { raw, mediaType: "image/png" },
        { raw, mediaType: "audio/wav" },
        { raw, mediaType: "application/zip", filename: "all files.zip" },
        { url: "https://files.example/report.pdf", mediaType: "application/pdf" },
        { data: { a: 1 } },
      ),
    ).toMatchObject({
      content: [
        { type: "text", text: "words" },
        { type: "image", data: raw, mimeType: "image/png" },
        { type: "audio", data: raw, mimeType: "audio/wav" },
        {
          type: "resource",
          resource: { uri: "a2a:all%20files.zip", mimeType: "application/zip", blob: raw },
        },
        {
          type: "resource_link",
          uri: "https://files.example/report.pdf",
          name: "report.pdf",
          mimeType: "application/pdf",
        },
        { type: "text", text: '{"a":1}' },
      ],
    });
    expect(await made({ data: { a: 1 } })).toMatchObject({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
    expect(await made({ data: [1] })).not.toHaveProperty("structuredContent");
    expect(textOf(await say(gateway, "status all well"))).toBe("all well");
    const plain = await say(gateway, "plain message");
    expect(textOf(plain)).toBe("just words");
    expect(factsOf(plain)).not.toHaveProperty("taskId");
  });

  it("was made of data and files that the caller handed over", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    await say(gateway, "take", {
      data: { a: 1 },
      files: [
        { name: "a.txt", mediaType: "text/plain", base64: "aGk=" },
        { url: "https://files.example/b" },
      ],
    });
    expect(agent.script.messages[0]!.parts.map(({ content }) => content)).toEqual([
      { $case: "text", value: "take" },
      { $case: "data", value: { a: 1 } },
      { $case: "raw", value: new Uint8Array(Buffer.from("hi")) },
      { $case: "url", value: "https://files.example/b" },
    ]);
    for (const args of [
      { files: [{ base64: "aGk=", url: "https://files.example/b" }] },
      { files: [{}] },
      { message: 1 },
      { other: true },
    ])
      expect(await say(gateway, "take", args)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^The arguments are wrong: /) as string }],
      });
    expect(agent.script.messages).toHaveLength(1);
  });
});
