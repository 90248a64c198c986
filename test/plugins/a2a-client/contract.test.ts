import { describe, expect, it } from "vitest";
import { until } from "../../kit/until.ts";
import { factsOf, say, startBridge, textOf } from "./kit.ts";
import { reply, startRuntime, tell, type WireMessage } from "./runtime.ts";

const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const idOf = ({ taskId, messageId }: WireMessage): string => taskId ?? messageId;

function completed(message: WireMessage, text: string) {
  return {
    id: idOf(message),
    contextId: "talk-1",
    status: { state: "completed" },
    artifacts: [{ artifactId: "a", parts: [{ text }] }],
  };
}

describe("a runtime of contract v1", () => {
  it("R019, R021: is sent a bare message and answers with a bare task", async () => {
    const runtime = await startRuntime((message, res) =>
      reply(res, 200, completed(message, `hello, ${message.parts[0]!.text}`)),
    );
    const { gateway, client } = await startBridge({ url: runtime.url });
    expect(gateway.servers.get("agent")!.status.protocolVersion).toBe("contract-v1");
    const result = await client.callTool({ name: "talk", arguments: { message: "you" } });
    expect(textOf(result)).toBe("hello, you");
    const [sent] = runtime.messages;
    expect(sent).toMatchObject({ role: "user", parts: [{ text: "you" }] });
    expect(factsOf(result)).toEqual({
      taskId: sent!.messageId,
      contextId: "talk-1",
      state: "completed",
    });
    expect(runtime.headers[0]).toMatchObject({
      "content-type": "application/json",
      accept: "application/json",
    });
  });

  it("T1: gets nothing of the caller's request but arguments and trace context", async () => {
    const runtime = await startRuntime((message, res) => reply(res, 200, completed(message, "ok")));
    const canary = "CANARY-51b7";
    const { client } = await startBridge(
      { url: runtime.url, headers: { Authorization: "Bearer own", Accept: "text/html" } },
      { client: { headers: { authorization: `Bearer ${canary}`, cookie: canary } } },
    );
    const _meta = { traceparent: TRACE, note: canary };
    await client.callTool({ name: "talk", arguments: { message: "hi" }, _meta });
    expect(JSON.stringify([runtime.headers, runtime.messages])).not.toContain(canary);
    expect(runtime.headers[0]).toMatchObject({
      authorization: "Bearer own",
      accept: "application/json",
      traceparent: expect.stringContaining(TRACE.slice(3, 35)) as string,
    });
  });

  it("R025: says why a task failed", async () => {
    const runtime = await startRuntime((message, res) =>
      reply(res, 200, {
        id: idOf(message),
        status: {
          state: "failed",
          message: { role: "agent", parts: [{ text: "no such repository" }] },
        },
      }),
    );
    const { gateway } = await startBridge({ url: runtime.url });
    const result = await say(gateway, "clone");
    expect(result).toMatchObject({ isError: true, content: [{ text: "no such repository" }] });
  });

  it("asks, and is answered under the same task", async () => {
    const runtime = await startRuntime((message, res) => {
      const asks = {
        id: idOf(message),
        status: {
          state: "input-required",
          message: { role: "agent", parts: [{ text: "which branch?" }] },
        },
      };
      reply(res, 200, message.taskId ? completed(message, "done") : asks);
    });
    const { gateway } = await startBridge({ url: runtime.url });
    const { taskId } = factsOf(await say(gateway, "clone"));
    expect(textOf(await say(gateway, "main", { taskId }))).toBe("done");
    expect(runtime.messages[1]).toMatchObject({ taskId });
  });

  it.each([
    [
      "as A2A 1.0 wraps them",
      (id: string) => [
        { task: { id, status: { state: "submitted" } } },
        {
          statusUpdate: {
            taskId: id,
            status: { state: "working", message: { role: "agent", parts: [{ text: "reading" }] } },
          },
        },
        {
          artifactUpdate: { taskId: id, artifact: { artifactId: "a", parts: [{ text: "one " }] } },
        },
        {
          artifactUpdate: {
            taskId: id,
            append: true,
            artifact: { artifactId: "a", parts: [{ text: "two" }] },
          },
        },
        { artifactUpdate: { taskId: id, append: true, artifact: { artifactId: "a", parts: [] } } },
        { statusUpdate: { taskId: id, status: { state: "completed" } } },
      ],
    ],
    [
      "bare",
      (id: string) => [
        {
          taskId: id,
          status: { state: "working", message: { role: "agent", parts: [{ text: "reading" }] } },
        },
        { taskId: id, artifact: { artifactId: "a", parts: [{ text: "one two" }] } },
        { taskId: id, status: { state: "completed" } },
      ],
    ],
  ])("R041, R042: tells of a task by events, %s", async (_, events) => {
    const runtime = await startRuntime((message, res) => tell(res, ...events(idOf(message))), true);
    const { gateway } = await startBridge({ url: runtime.url });
    const told: unknown[] = [];
    const { result } = await gateway.call({
      server: "agent",
      name: "talk",
      args: { message: "go" },
      progress: ({ message }) => void told.push(message),
    });
    expect(textOf(result!)).toBe("one two");
    expect(told).toContain("reading");
    expect(runtime.headers[0]!.accept).toBe("text/event-stream");
  });

  it("answers with a task though it could stream", async () => {
    const runtime = await startRuntime(
      (message, res) => reply(res, 200, completed(message, "at once")),
      true,
    );
    const { gateway } = await startBridge({ url: runtime.url });
    expect(textOf(await say(gateway, "go"))).toBe("at once");
  });

  it("hears of a cancel by its closed connection, and is asked only once", async () => {
    const runtime = await startRuntime(() => {});
    const { client } = await startBridge({ url: runtime.url });
    const caller = new AbortController();
    const call = client.callTool({ name: "talk", arguments: { message: "wait" } }, undefined, {
      signal: caller.signal,
    });
    await until(() => runtime.messages.length === 1);
    caller.abort("enough");
    await expect(call).rejects.toThrow(/enough/);
    await until(() => runtime.left === 1);
    expect(runtime.messages).toHaveLength(1);
  });

  it("R026: that refuses a message is a failed tool, one that is not ready an upstream error", async () => {
    const statuses = [400, 415, 503, 302, 401, 500];
    const runtime = await startRuntime((_, res) =>
      reply(res, statuses.shift()!, { error: "parts are empty" }),
    );
    const { gateway } = await startBridge({ url: runtime.url });
    for (const status of [400, 415])
      expect(await say(gateway, "go")).toMatchObject({
        isError: true,
        content: [{ text: `The agent refused: HTTP ${status}. {"error":"parts are empty"}` }],
      });
    for (const message of [
      /takes no work now \(HTTP 503\)/,
      /redirects \(HTTP 302\), which is not followed/,
      /wants authentication \(HTTP 401\)/,
      /answered with HTTP 500/,
    ])
      await expect(say(gateway, "go")).rejects.toMatchObject({
        code: "upstream_error",
        message: expect.stringMatching(message) as string,
      });
  });

  it("that sends nonsense, breaks off or sends too much is an upstream error", async () => {
    const bodies: ((res: Parameters<typeof tell>[0], id: string) => void)[] = [
      (res) => reply(res, 200, { no: "task" }),
      (res) => void res.writeHead(200, { "content-type": "application/json" }).end("{"),
      (res) => tell(res),
      (res, id) => tell(res, { task: { id, status: { state: "working" } } }),
      (res, id) => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.write(`data: ${JSON.stringify({ task: { id, status: { state: "working" } } })}\n\n`);
        setImmediate(() => res.destroy());
      },
    ];
    const runtime = await startRuntime((message, res) => bodies.shift()!(res, idOf(message)), true);
    const { gateway } = await startBridge({ url: runtime.url, maxResult: 10_000 });
    for (let left = bodies.length; left > 0; left--)
      await expect(say(gateway, "go")).rejects.toMatchObject({ code: "upstream_error" });
    const large = "x".repeat(20_000);
    bodies.push(
      (res, id) => reply(res, 200, completed({ messageId: id, role: "", parts: [] }, large)),
      (res) => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.end(`data: ${large}\n\n`);
      },
      (res, id) =>
        tell(res, { taskId: id, artifact: { artifactId: "a", parts: [{ text: large }] } }),
    );
    for (let left = bodies.length; left > 0; left--)
      await expect(say(gateway, "go")).rejects.toMatchObject({ code: "result_too_large" });
  });

  it("R016: is probed by its health", async () => {
    const runtime = await startRuntime(() => {});
    const { gateway } = await startBridge({ url: runtime.url });
    const server = gateway.servers.get("agent")!;
    const probe = () => server.probe!(AbortSignal.timeout(5_000));
    expect((await probe()).latency).toBeGreaterThan(0);
    runtime.health = 503;
    await expect(probe()).rejects.toMatchObject({
      code: "upstream_error",
      data: { failed: "handshake", status: 503 },
    });
  });
});
