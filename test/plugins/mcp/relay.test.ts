import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import type { Call } from "propylon";
import { afterEach, describe, expect, it } from "vitest";
import { deferred } from "../../kit/deferred.ts";
import {
  modernMeta,
  FakeServer,
  legacyClient,
  openSession,
  post,
  postModern,
  sdk2Client,
  serve,
  text,
  type Served,
} from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

describe("progress", () => {
  it.each(["sdk1", "legacy", "modern"] as const)(
    "P101-P103: reaches a %s client in order, with its own token",
    async (kind) => {
      const server = new FakeServer("one").tool("work", (call) => {
        call.progress?.({ progress: 1, total: 3, message: "a" });
        call.progress?.({ progress: 1, total: 3 });
        call.progress?.({ progress: 2, total: 3, message: "b" });
        return text("done");
      });
      served = await serve([server]);
      const seen: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
      if (kind === "sdk1") {
        const client = await legacyClient(served.url);
        await client.callTool({ name: "work" }, undefined, { onprogress });
        await client.close();
      } else {
        const client = await sdk2Client(served.url, kind);
        await client.callTool({ name: "work" }, { onprogress });
        await client.close();
      }
      expect(seen).toEqual([1, 2]);
    },
  );

  it("P101: without a token there is none, and the answer is plain JSON", async () => {
    let asked: Call["progress"] | "unset" = "unset";
    served = await serve([
      new FakeServer("one").tool("work", (call) => {
        asked = call.progress;
        return text("done");
      }),
    ]);
    const headers = await openSession(served.url);
    const response = await post(
      served.url,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "work" } },
      headers,
    );
    expect(asked).toBeUndefined();
    expect(response.headers.get("content-type")).toBe("application/json");
  });

  it.each([0, 7, "seven", ""])(
    "P102: the token %j keeps its value and type",
    async (progressToken) => {
      served = await serve([
        new FakeServer("one").tool("work", (call) => {
          call.progress?.({ progress: 1 });
          return text("done");
        }),
      ]);
      const params = { name: "work", _meta: { progressToken } };
      const response = await post(
        served.url,
        { jsonrpc: "2.0", id: 1, method: "tools/call", params },
        await openSession(served.url),
      );
      const [first] = events(await response.text());
      expect(first).toEqual({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progress: 1, progressToken },
      });
    },
  );
});

describe("cancellation", () => {
  /** A tool that runs until its signal aborts. */
  function hanging() {
    const started = deferred();
    const aborted = deferred();
    const server = new FakeServer("one").tool("hang", async (call) => {
      started.resolve();
      await new Promise<void>((resolve) =>
        call.signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      aborted.resolve();
      return text("late");
    });
    return { server, started: started.promise, aborted: aborted.promise };
  }

  it.each(["legacy", "modern"] as const)("a %s client's abort reaches the callee", async (era) => {
    const { server, started, aborted } = hanging();
    served = await serve([server]);
    const client = await sdk2Client(served.url, era);
    const controller = new AbortController();
    const call = client.callTool({ name: "hang" }, { signal: controller.signal });
    await started;
    controller.abort();
    await expect(call).rejects.toThrow(/abort/i);
    await aborted;
    await client.close();
  });

  it("a modern client that hangs up aborts its call: there, closing the stream is the cancellation", async () => {
    const { server, started, aborted } = hanging();
    served = await serve([server]);
    const controller = new AbortController();
    const params = { name: "hang", _meta: modernMeta() };
    const request = fetch(served.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "hang",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      signal: controller.signal,
    });
    await started;
    controller.abort();
    await expect(request).rejects.toThrow(/abort/i);
    await aborted;
  });

  it("a second request with the id of one that runs is refused, and the first can still be cancelled", async () => {
    const { server, started } = hanging();
    served = await serve([server]);
    const alice = await openSession(served.url);
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hang" } };
    const first = post(served.url, request, alice);
    await started;
    const second = await post(served.url, request, alice);
    expect(await second.json()).toMatchObject({ id: 1, error: { code: -32600 } });
    const other = await post(served.url, { ...request, id: "1", params: { name: "none" } }, alice);
    expect(await other.json()).toMatchObject({ id: "1", error: { code: -32602 } });
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    await post(served.url, cancel, alice);
    expect(served.host.calls[0]!.signal.aborted).toBe(true);
    expect(await (await first).text()).toBe("");
  });

  it("a task that a client asks for stays here, because the gateway declares no tasks", async () => {
    const server = new FakeServer("one").tool("work", (call) =>
      text(JSON.stringify(call.params ?? null)),
    );
    served = await serve([server]);
    const params = { name: "work", arguments: {}, task: { ttl: 1_000 } };
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const response = await post(served.url, request, await openSession(served.url));
    expect(await response.json()).toMatchObject({ result: { content: [{ text: "null" }] } });
  });

  it("T5: a call that asks its client without end is refused after 100 open questions", async () => {
    const server = new FakeServer("one").tool("ask", async (call) => {
      const asked = Array.from({ length: 101 }, () =>
        call.peer.ask("roots/list", undefined).then(
          () => "answered",
          (error: Error) => error.message,
        ),
      );
      return text(await Promise.race(asked));
    });
    served = await serve([server]);
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "ask" } };
    const session = await openSession(served.url, { roots: {} });
    const answer = events(await (await post(served.url, request, session)).text()).at(-1);
    expect(answer).toMatchObject({
      result: { content: [{ text: "A call may have 100 open questions to its client." }] },
    });
  });

  it("T5: one session cannot cancel the call of another", async () => {
    const { server, started } = hanging();
    served = await serve([server]);
    const [alice, bob] = [await openSession(served.url), await openSession(served.url)];
    const call = post(
      served.url,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hang" } },
      alice,
    );
    await started;
    const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    expect((await post(served.url, cancel, bob)).status).toBe(202);
    expect(served.host.calls[0]!.signal.aborted).toBe(false);
    await post(served.url, cancel, alice);
    expect(served.host.calls[0]!.signal.aborted).toBe(true);
    expect(await (await call).text()).toBe("");
  });
});

describe("isolation", () => {
  it("T5: 50 clients with equal ids and tokens each get only what is theirs", async () => {
    const server = new FakeServer("one").tool("work", async (call) => {
      call.progress?.({ progress: 1, message: String(call.args?.["who"]) });
      await new Promise((resolve) => setImmediate(resolve));
      call.peer.tell("notifications/message", { level: "error", data: call.args?.["who"] });
      return text(String(call.args?.["who"]));
    });
    served = await serve([server]);
    const { url } = served;
    const sessions = await Promise.all(Array.from({ length: 50 }, () => openSession(url)));
    const rounds = sessions.flatMap((headers, who) =>
      Array.from({ length: 10 }, (_, id) => ({ headers, who: `${who}/${id}`, id })),
    );
    await Promise.all(
      rounds.map(async ({ headers, who, id }) => {
        const params = { name: "work", arguments: { who }, _meta: { progressToken: id } };
        const response = await post(
          url,
          { jsonrpc: "2.0", id, method: "tools/call", params },
          headers,
        );
        expect(events(await response.text())).toEqual([
          {
            jsonrpc: "2.0",
            method: "notifications/progress",
            params: { progress: 1, message: who, progressToken: id },
          },
          {
            jsonrpc: "2.0",
            method: "notifications/message",
            params: { level: "error", data: who },
          },
          { jsonrpc: "2.0", id, result: { content: [{ type: "text", text: who }] } },
        ]);
      }),
    );
  });

  it("T10: any text in a message is exactly one event", async () => {
    const hostile = fc.constantFrom(
      "\n\n",
      "\r",
      "data: x",
      "\u2028",
      "\0",
      "event: evil\n",
      "id: 1\r\n",
      "\ud800",
    );
    const message = fc
      .array(fc.oneof(hostile, fc.string()), { maxLength: 8 })
      .map((parts) => parts.join(""));
    const messages = fc.sample(message, 2_000);
    const server = new FakeServer("one").tool("work", (call) => {
      messages.forEach((sent, index) => call.progress?.({ progress: index + 1, message: sent }));
      return text(messages.join(""));
    });
    served = await serve([server]);
    const params = { name: "work", _meta: { progressToken: 1 } };
    const response = await post(
      served.url,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params },
      await openSession(served.url),
    );
    const all = events(await response.text());
    expect(all).toHaveLength(messages.length + 1);
    expect(
      all.slice(0, -1).map((event) => (event as { params: { message: string } }).params.message),
    ).toEqual(messages);
  });
});

describe("arguments", () => {
  it("null is no arguments, as clients that write a nil map send it; any other non-object is refused", async () => {
    const server = new FakeServer("one").tool("work", (call) =>
      text(JSON.stringify(call.args ?? "none")),
    );
    served = await serve([server]);
    const session = await openSession(served.url);
    const call = async (args: unknown) => {
      const params = { name: "work", arguments: args };
      const response = await post(
        served!.url,
        { jsonrpc: "2.0", id: 1, method: "tools/call", params },
        session,
      );
      return (await response.json()) as {
        result?: { content: { text: string }[] };
        error?: { code: number };
      };
    };
    expect((await call(null)).result?.content[0]?.text).toBe('"none"');
    for (const wrong of [1, "x", [], false]) expect((await call(wrong)).error?.code).toBe(-32602);
  });
});

describe("logging", () => {
  it("calls log to their own client from its level on; others go to sessions that asked", async () => {
    const server = new FakeServer("one", { capabilities: { logging: {} } }).tool("log", (call) => {
      for (const level of ["debug", "warning"])
        call.peer.tell("notifications/message", { level, data: level });
      return text("done");
    });
    served = await serve([server]);
    const [asked, silent] = [await legacyClient(served.url), await legacyClient(served.url)];
    const seen: Record<string, unknown[]> = { asked: [], silent: [] };
    asked.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void seen["asked"]!.push(params.data),
    );
    silent.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void seen["silent"]!.push(params.data),
    );
    await asked.setLoggingLevel("warning");
    expect(server.levels.at(-1)).toBe("warning");
    await asked.callTool({ name: "log" });
    server.emit({ type: "log", params: { level: "info", data: "quiet" } });
    server.emit({ type: "log", params: { level: "error", data: "loud" } });
    await expect.poll(() => seen).toEqual({ asked: ["warning", "loud"], silent: [] });
    await Promise.all([asked.close(), silent.close()]);
  });

  it("a modern client gets log messages only if the request names a level", async () => {
    served = await serve([
      new FakeServer("one").tool("log", (call) => {
        call.peer.tell("notifications/message", { level: "info", data: "x" });
        return text("done");
      }),
    ]);
    const without = await postModern(served.url, 1, "tools/call", { name: "log" });
    expect(without.headers.get("content-type")).toBe("application/json");
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/logLevel": "info",
    };
    const withLevel = await postModern(served.url, 1, "tools/call", { name: "log", _meta });
    expect(events(await withLevel.text())[0]).toMatchObject({ method: "notifications/message" });
  });
});

describe("changes", () => {
  const resource = { uri: "x://a", name: "a" };

  it("M106: a changed list is told to streams, an unchanged one to nobody", async () => {
    const server = new FakeServer("one").tool("a", () => text("a"));
    served = await serve([server]);
    const client = await legacyClient(served.url);
    const changes: string[] = [];
    client.setNotificationHandler(
      ToolListChangedNotificationSchema,
      ({ method }) => void changes.push(method),
    );
    await client.listTools();
    server.emit({ type: "changed", lists: ["tools"] });
    server.tool("b", () => text("b"));
    server.emit({ type: "changed", lists: ["tools"] });
    await expect.poll(() => changes).toHaveLength(1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["a", "b"]);
    const before = changes.length;
    served.endpoint.update(served.content([server]));
    expect(changes).toHaveLength(before);
    await client.close();
  });

  it("a session without stream learns of the change when it opens one", async () => {
    const server = new FakeServer("one");
    served = await serve([server]);
    const headers = { ...(await openSession(served.url)), accept: "text/event-stream" };
    served.endpoint.update(served.content([server.tool("b", () => text("b"))]));
    const stream = await fetch(served.url, { headers });
    const { value } = await stream.body!.getReader().read();
    expect(new TextDecoder().decode(value)).toContain("notifications/tools/list_changed");
  });

  it("resource updates reach subscribers only, and the server sees one subscription for all of them", async () => {
    const server = new FakeServer("one", {
      resources: [resource],
      capabilities: { resources: { subscribe: true } },
    });
    served = await serve([server]);
    const clients = await Promise.all([0, 1, 2].map(() => legacyClient(served!.url)));
    const seen = clients.map(() => 0);
    clients.forEach((client, index) =>
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void seen[index]!++),
    );
    await clients[0]!.subscribeResource({ uri: resource.uri });
    await clients[1]!.subscribeResource({ uri: resource.uri });
    server.emit({ type: "updated", params: { uri: resource.uri } });
    await expect.poll(() => seen).toEqual([1, 1, 0]);
    await clients[0]!.unsubscribeResource({ uri: resource.uri });
    expect(server.subscribed).toEqual(["+x://a"]);
    await fetch(served.url, {
      method: "DELETE",
      headers: { "mcp-session-id": (clients[1]!.transport as { sessionId?: string }).sessionId! },
    });
    await expect.poll(() => server.subscribed).toEqual(["+x://a", "-x://a"]);
    await Promise.all(clients.map((client) => client.close()));
  });

  it("subscriptions/listen: acknowledges first, honours the filter, stamps its id", async () => {
    const server = new FakeServer("one", {
      resources: [resource],
      capabilities: { resources: {} },
    }).tool("a", () => text("a"));
    served = await serve([server]);
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: [resource.uri],
    };
    const stream = await postModern(served.url, "L", "subscriptions/listen", { notifications });
    const reader = stream.body!.getReader();
    const next = async () => events(new TextDecoder().decode((await reader.read()).value));
    const _meta = { "io.modelcontextprotocol/subscriptionId": "L" };
    expect(await next()).toEqual([
      {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: {
          notifications: { toolsListChanged: true, resourceSubscriptions: [resource.uri] },
          _meta,
        },
      },
    ]);
    server.emit({ type: "updated", params: { uri: "x://other" } });
    server.emit({ type: "updated", params: { uri: "x://a" } });
    expect(await next()).toMatchObject([
      { method: "notifications/resources/updated", params: { uri: "x://a", _meta } },
    ]);
    served.endpoint.update(served.content([server.tool("b", () => text("b"))]));
    expect(await next()).toMatchObject([
      { method: "notifications/tools/list_changed", params: { _meta } },
    ]);
    await reader.cancel();
    await expect.poll(() => server.subscribed).toEqual(["+x://a", "-x://a"]);
  });

  it("the SDK 2.4 client's listen works, and a shutdown ends it with a result", async () => {
    const server = new FakeServer("one").tool("a", () => text("a"));
    served = await serve([server]);
    const stream = await postModern(served.url, 5, "subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    served.endpoint.close();
    const all = events(await stream.text());
    expect(all.at(-1)).toMatchObject({
      id: 5,
      result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": 5 } },
    });
  });
});

describe("slow readers", () => {
  it("a stream whose client does not read is closed at limits.streamQueue, not buffered", async () => {
    const server = new FakeServer("one");
    served = await serve([server], { limits: { streamQueue: "64KiB" } });
    const headers = await openSession(served.url);
    await post(
      served.url,
      { jsonrpc: "2.0", id: 1, method: "logging/setLevel", params: { level: "debug" } },
      headers,
    );
    const { connect } = await import("node:net");
    const socket = connect(Number(served.url.port), "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write(
      `GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${headers["mcp-session-id"]}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once("data", resolve));
    socket.pause();
    const data = "x".repeat(10_000);
    for (let i = 0; i < 5_000; i++) {
      server.emit({ type: "log", params: { level: "info", data } });
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    socket.resume();
    await closed;
    // Of 50 MB, what the sockets of the system held and the queue.
    expect(socket.bytesRead).toBeLessThan(20 * 1024 * 1024);
  });
});

/** The JSON of every event of a stream. */
function events(body: string): unknown[] {
  return body
    .split("\n\n")
    .filter((event) => event.includes("data: "))
    .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)) as unknown);
}
