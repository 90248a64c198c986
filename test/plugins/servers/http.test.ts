import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Progress } from "propylon";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { deferred } from "../../kit/deferred.ts";
import { callText, makeCall, makePeer, makeUpstream, nextEvent, reached } from "./support/calls.ts";
import {
  type Handler,
  type Running,
  rpc,
  serveHttp,
  serveNew,
  serveOld,
} from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

/** A legacy server without a session that has the tool `t` and answers `tools/call` as told. */
async function serveLegacy(onCall: Handler, onGet?: Handler): Promise<Running> {
  const server = await serveHttp((req, res, body) => {
    if (req.method === "GET") return onGet ? onGet(req, res, body) : void res.writeHead(405).end();
    if (body.method === "initialize")
      return rpc(res, body.id, {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "x", version: "1" },
      });
    if (body.method === "tools/list")
      return rpc(res, body.id, { tools: [{ name: "t", inputSchema: { type: "object" } }] });
    if (body.method === "tools/call") return onCall(req, res, body);
    if (body.id === undefined) return void res.writeHead(202).end();
    rpc(res, body.id, undefined, { code: -32601, message: "no" });
  });
  return use(server);
}

async function ready(config: object): Promise<ReturnType<typeof makeUpstream>> {
  const upstream = use(makeUpstream(config));
  upstream.start();
  await reached(upstream, "ready");
  return upstream;
}

const answer = (id: string, text = "x"): string =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
const sse = (res: ServerResponse): ServerResponse =>
  res.writeHead(200, { "content-type": "text/event-stream" });

describe.each([
  [
    "legacy",
    () =>
      serveOld(
        (mcp) =>
          void mcp.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text }) => ({
            content: [{ type: "text", text }],
          })),
      ),
  ],
  [
    "modern",
    () =>
      serveNew(
        (mcp) =>
          void mcp.registerTool(
            "echo",
            { inputSchema: z.object({ text: z.string() }) },
            ({ text }) => ({ content: [{ type: "text", text }] }),
          ),
      ),
  ],
] as const)("Streamable HTTP to a %s SDK server", (era, serve) => {
  it("lists and calls tools", async () => {
    const upstream = await ready({ url: use(await serve()).url });
    expect(upstream.status).toMatchObject({ era, transport: "streamable-http" });
    expect(upstream.catalogue.tools.map((tool) => tool.name)).toEqual(["echo"]);
    expect(await callText(upstream, "echo", { text: "hallo" })).toBe("hallo");
    expect(upstream.inFlight).toBe(0);
  });

  it("T5: 200 concurrent calls each get their own answer", async () => {
    const upstream = await ready({ url: use(await serve()).url });
    const nonces = Array.from({ length: 200 }, () => randomUUID());
    expect(await Promise.all(nonces.map((text) => callText(upstream, "echo", { text })))).toEqual(
      nonces,
    );
  });

  it("passes a large result through as bytes", async () => {
    const upstream = await ready({ url: use(await serve()).url });
    const text = "é".repeat(300_000);
    const result = await upstream.request(makeCall("echo", { text }));
    expect(result.isRaw).toBe(true);
    const message = Buffer.concat(
      result.encode("mine").map((piece) => Buffer.from(piece as string)),
    );
    expect(JSON.parse(message.toString("utf8"))).toMatchObject({
      id: "mine",
      result: { content: [{ text }] },
    });
  });

  it("M010: sends the negotiated version with every request", async () => {
    const server = use(await serve());
    const upstream = await ready({
      url: server.url,
      headers: { authorization: "Bearer secret", "x-team": "blue" },
    });
    await callText(upstream, "echo", { text: "x" });
    const call = server.requests.find(
      ({ body }) => (body as { method?: string } | undefined)?.method === "tools/call",
    )!;
    expect(call.headers).toMatchObject({
      "mcp-protocol-version": upstream.status.protocolVersion,
      authorization: "Bearer secret",
      "x-team": "blue",
    });
  });
});

describe("progress, cancel and server-to-client over HTTP", () => {
  it("P101: sends a token only for a caller that wants progress, and maps it back", async () => {
    const server = use(
      await serveOld((mcp) =>
        mcp.registerTool("work", {}, async ({ _meta, sendNotification }) => {
          const progressToken = _meta?.progressToken;
          for (let progress = 1; progressToken !== undefined && progress <= 3; progress++) {
            await sendNotification({
              method: "notifications/progress",
              params: { progressToken, progress, total: 3, message: `step ${progress}` },
            });
          }
          return { content: [{ type: "text", text: String(progressToken !== undefined) }] };
        }),
      ),
    );
    const upstream = await ready({ url: server.url });
    const seen: Progress[] = [];
    expect(
      await callText(upstream, "work", {}, { progress: (progress) => void seen.push(progress) }),
    ).toBe("true");
    expect(seen).toEqual(
      [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })),
    );
    expect(await callText(upstream, "work")).toBe("false");
  });

  it.each(["legacy", "modern"] as const)(
    "a cancelled call is cancelled at the %s server",
    async (era) => {
      const cancelled = deferred();
      const started = deferred();
      const work = async (signal: AbortSignal): Promise<{ content: [] }> => {
        started.resolve();
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        cancelled.resolve();
        return { content: [] };
      };
      const server =
        era === "legacy"
          ? await serveOld((mcp) => void mcp.registerTool("work", {}, ({ signal }) => work(signal)))
          : await serveNew(
              (mcp) => void mcp.registerTool("work", {}, (ctx) => work(ctx.mcpReq.signal)),
            );
      const upstream = await ready({ url: use(server).url });
      const abort = new AbortController();
      const call = upstream.request(makeCall("work", {}, { signal: abort.signal }));
      await started.promise;
      abort.abort();
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      await cancelled.promise;
      expect(upstream.inFlight).toBe(0);
    },
  );

  it("a question of the server goes to the client whose call it is, and its answer back", async () => {
    const server = use(
      await serveOld((mcp) =>
        mcp.registerTool("ask", { inputSchema: { who: z.string() } }, async ({ who }) => {
          const { content } = await mcp.server.createMessage({
            messages: [{ role: "user", content: { type: "text", text: who } }],
            maxTokens: 1,
          });
          return {
            content: [{ type: "text", text: `${who}:${(content as { text: string }).text}` }],
          };
        }),
      ),
    );
    const upstream = await ready({ url: server.url });
    const asking = (name: string): ReturnType<typeof makePeer> =>
      makePeer({
        ask: async (method, params) => ({
          role: "assistant",
          model: "m",
          content: {
            type: "text",
            text: `${name} ${method} ${JSON.stringify(params).includes(name)}`,
          },
        }),
      });
    // The SDK server sends such a request on the stream of the call only when told; without, it uses the GET stream.
    expect(await callText(upstream, "ask", { who: "anna" }, { peer: asking("anna") })).toBe(
      "anna:anna sampling/createMessage true",
    );
  });

  it("log messages reach the client of the call at its own level", async () => {
    const server = use(
      await serveOld((mcp) =>
        mcp.registerTool("log", {}, async (extra) => {
          for (const level of ["debug", "warning"] as const)
            await extra.sendNotification({
              method: "notifications/message",
              params: { level, data: level },
            });
          return { content: [{ type: "text", text: "done" }] };
        }),
      ),
    );
    const upstream = await ready({ url: server.url });
    const [loud, quiet] = [makePeer({ logLevel: "info" }), makePeer()];
    await callText(upstream, "log", {}, { peer: loud });
    await callText(upstream, "log", {}, { peer: quiet });
    expect(loud.told).toEqual([
      { method: "notifications/message", params: { level: "warning", data: "warning" } },
    ]);
    expect(quiet.told).toEqual([]);
  });

  it("list changes, resource updates and log messages of no call become events", async () => {
    const server = use(
      await serveOld((mcp) => void mcp.registerTool("one", {}, () => ({ content: [] }))),
    );
    const upstream = await ready({ url: server.url });
    const changed = nextEvent(upstream, "changed");
    server.servers.at(-1)!.registerTool("two", {}, () => ({ content: [] }));
    expect((await changed).lists).toEqual(["tools"]);
    expect(upstream.catalogue.tools.map((tool) => tool.name)).toEqual(["one", "two"]);
    const logged = nextEvent(upstream, "log");
    await server.servers.at(-1)!.server.notification({
      method: "notifications/message",
      params: { level: "info", data: "hi" },
    });
    expect((await logged).params).toMatchObject({ data: "hi" });
  });

  it("a modern server's list changes and resource updates come over one listen stream", async () => {
    const server = use(
      await serveNew((mcp) => void mcp.registerTool("one", {}, () => ({ content: [] }))),
    );
    const upstream = await ready({ url: server.url });
    await upstream.subscribe("file:///a");
    const updated = nextEvent(upstream, "updated");
    server.handler.notify.resourceUpdated("file:///a");
    expect((await updated).params).toEqual({ uri: "file:///a" });
    const listens = server.requests
      .map(({ body }) => body as { method?: string; params?: unknown })
      .filter((body) => body?.method === "subscriptions/listen");
    expect(listens.at(-1)!.params).toMatchObject({
      notifications: { toolsListChanged: true, resourceSubscriptions: ["file:///a"] },
    });
  });
});

describe("faults over HTTP", () => {
  it("an answer with a wrong id, or an id of another call, reaches nobody", async () => {
    const first = deferred<string>();
    const server = await serveLegacy((_req, res, body) => {
      const args = body.params["arguments"] as { kind: string };
      if (args.kind === "victim") {
        first.resolve(body.id);
        return void sse(res);
      }
      void first.promise.then((victim) =>
        sse(res).end(`data: ${answer(args.kind === "steal" ? victim : "nonsense", "stolen")}\n\n`),
      );
    });
    const upstream = await ready({ url: server.url });
    const abort = new AbortController();
    const victim = upstream.request(makeCall("t", { kind: "victim" }, { signal: abort.signal }));
    await expect(upstream.request(makeCall("t", { kind: "steal" }))).rejects.toMatchObject({
      code: "upstream_error",
    });
    await expect(upstream.request(makeCall("t", { kind: "wrong" }))).rejects.toMatchObject({
      code: "upstream_error",
    });
    abort.abort();
    await expect(victim).rejects.toMatchObject({ code: "cancelled" });
  });

  it("a second answer to one request is dropped", async () => {
    const server = await serveLegacy(
      (_req, res, body) =>
        void sse(res).end(`data: ${answer(body.id, "one")}\n\ndata: ${answer(body.id, "two")}\n\n`),
    );
    const upstream = await ready({ url: server.url });
    expect(await callText(upstream, "t")).toBe("one");
    expect(await callText(upstream, "t")).toBe("one");
  });

  it("an event stream cut at any byte is one clean error, never part of a result, and is not retried", async () => {
    let calls = 0;
    const server = await serveLegacy((_req, res, body) => {
      calls++;
      const cut = (body.params["arguments"] as { cut: number }).cut;
      const bytes = Buffer.from(`event: message\ndata: ${answer(body.id, "é😀".repeat(330))}\n\n`);
      sse(res).write(bytes.subarray(0, cut), () => res.destroy());
      if (cut === 0) res.flushHeaders();
    });
    const upstream = await ready({ url: server.url });
    const length =
      Buffer.byteLength(`event: message\ndata: ${answer("i".repeat(22), "é😀".repeat(330))}\n\n`) -
      4;
    expect(length).toBeGreaterThan(2_000);
    const cuts = Array.from({ length }, (_, index) => index);
    for (let from = 0; from < cuts.length; from += 50) {
      const outcomes = await Promise.allSettled(
        cuts.slice(from, from + 50).map((cut) => upstream.request(makeCall("t", { cut }))),
      );
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({ status: "rejected", reason: { code: "upstream_error" } });
    }
    expect(calls).toBe(length);
  });

  it("a JSON answer cut short is one clean error", async () => {
    const server = await serveLegacy((_req, res, body) => {
      const bytes = Buffer.from(answer(body.id, "x".repeat(10_000)));
      res.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
      res.write(bytes.subarray(0, 6_000), () => res.destroy());
    });
    const upstream = await ready({ url: server.url });
    await expect(upstream.request(makeCall("t"))).rejects.toMatchObject({ code: "upstream_error" });
  });

  it.each(["json", "sse"])(
    "result_too_large ends only the call it happens to (%s)",
    async (kind) => {
      const server = await serveLegacy((_req, res, body) => {
        const size = (body.params["arguments"] as { size: number }).size;
        if (kind === "sse") sse(res).end(`data: ${answer(body.id, "x".repeat(size))}\n\n`);
        else rpc(res, body.id, { content: [{ type: "text", text: "x".repeat(size) }] });
      });
      const upstream = await ready({ url: server.url, maxResult: 100_000 });
      const [large, small] = await Promise.allSettled([
        upstream.request(makeCall("t", { size: 200_000 })),
        callText(upstream, "t", { size: 5 }),
      ]);
      expect(large).toMatchObject({
        status: "rejected",
        reason: { code: "result_too_large", data: { limit: 100_000 } },
      });
      expect(small).toEqual({ status: "fulfilled", value: "xxxxx" });
      expect(upstream.status.state).toBe("ready");
    },
  );

  it("a pretty-printed large answer stays bytes and keeps its meaning", async () => {
    const server = await serveLegacy((_req, res, body) => {
      res.writeHead(200, { "content-type": "application/json" });
      res.end(
        JSON.stringify(JSON.parse(answer(body.id, "x".repeat(9_000))), null, 2).replaceAll(
          "\n",
          "\r\n",
        ),
      );
    });
    const upstream = await ready({ url: server.url });
    const result = await upstream.request(makeCall("t"));
    expect(result.isRaw).toBe(true);
    const bytes = Buffer.concat(result.encode(1).map((piece) => Buffer.from(piece as string)));
    expect(JSON.parse(bytes.toString())).toEqual({
      ...(JSON.parse(answer("x", "x".repeat(9_000))) as object),
      id: 1,
    });
  });

  it("redirects and compressed answers are refused; a JSON-RPC error in a refusal is an answer", async () => {
    const server = await serveLegacy((_req, res, body) => {
      const { kind } = body.params["arguments"] as { kind: string };
      if (kind === "redirect")
        return void res.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
      if (kind === "gzip")
        return void res
          .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
          .end("x");
      res.writeHead(400, { "content-type": "application/json" }).end(
        JSON.stringify({
          jsonrpc: "2.0",
          id: body.id,
          error: { code: -32602, message: "bad", data: { why: 1 } },
        }),
      );
    });
    const upstream = await ready({ url: server.url });
    await expect(upstream.request(makeCall("t", { kind: "redirect" }))).rejects.toMatchObject({
      code: "upstream_error",
      data: { status: 302 },
    });
    await expect(upstream.request(makeCall("t", { kind: "gzip" }))).rejects.toThrow(/compressed/);
    expect((await upstream.request(makeCall("t", { kind: "rpc" }))).error).toEqual({
      code: -32602,
      message: "bad",
      data: { why: 1 },
    });
  });

  it.each([307, 308])(
    "mcp-09: a path that redirects (HTTP %d) within its origin is followed, with the credentials",
    async (status) => {
      const server = await serveLegacy((_req, res, body) =>
        rpc(res, body.id, { content: [{ type: "text", text: "moved" }] }),
      );
      const seen: (string | undefined)[] = [];
      const front = use(
        await serveHttp((req, res, body) => {
          if (req.url === "/mcp")
            return void res.writeHead(status, { location: "/mcp/?a=1" }).end();
          seen.push(`${req.url} ${req.headers.authorization}`);
          if (req.method === "GET") return void res.writeHead(405).end();
          void fetch(server.url, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(body),
          }).then(async (answered) => {
            res.writeHead(answered.status, { "content-type": "application/json" });
            res.end(await answered.text());
          });
        }),
      );
      const upstream = await ready({ url: front.url, headers: { authorization: "Bearer x" } });
      expect(await callText(upstream, "t")).toBe("moved");
      expect(new Set(seen)).toEqual(new Set(["/mcp/?a=1 Bearer x"]));
      expect((await upstream.probe(AbortSignal.timeout(5_000))).era).toBe("legacy");
    },
  );

  it.each([
    ["another origin", 307, "http://u:secret@127.0.0.2:9/mcp?key=secret", "http://127.0.0.2:9/mcp"],
    ["a method that changes", 302, "/other", undefined],
    ["itself", 308, "/mcp", undefined],
  ])(
    "mcp-09: a redirect to %s is not followed, and the state says where it leads",
    async (_what, status, location, shown) => {
      let count = 0;
      const server = use(
        await serveHttp((_req, res) => {
          count++;
          res.writeHead(status, { location }).end();
        }),
      );
      const upstream = use(makeUpstream({ url: server.url, protocol: "legacy" }));
      upstream.start();
      await reached(upstream, "backoff");
      const target = shown ?? new URL(location, server.url).href;
      expect(upstream.status.reason).toBe(
        `Server "test" redirects (HTTP ${status}), which is not followed. It redirects to ${target}. Put that URL into the config if it is the right one.`,
      );
      expect(count).toBeLessThanOrEqual(4);
      await expect(callText(upstream, "t")).rejects.not.toThrow(/127\.0\.0/);
    },
  );

  it("mcp-09: HTTP+SSE follows too", async () => {
    const server = use(
      await serveHttp((req, res, body) => {
        if (req.url === "/mcp") return void res.writeHead(307, { location: "/sse" }).end();
        if (req.method === "GET") {
          sse(res).write("event: endpoint\ndata: /post\n\n");
          return void stream.push(res);
        }
        res.writeHead(202).end();
        if (body.id === undefined) return;
        const result =
          body.method === "initialize"
            ? { protocolVersion: "2024-11-05", capabilities: {}, serverInfo: {} }
            : {};
        stream[0]!.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: body.id, result })}\n\n`);
      }),
    );
    const stream: ServerResponse[] = [];
    const upstream = await ready({ url: server.url, transport: "sse" });
    expect(upstream.status.state).toBe("ready");
  });

  it("SEP-1699: a stream that ends after its first event id is read on by GET, and the call is not repeated", async () => {
    let calls = 0;
    let pending = "";
    const server = await serveLegacy(
      (_req, res, body) => {
        calls++;
        pending = body.id;
        sse(res).end("id: e1\nretry: 20\ndata: \n\n");
      },
      (req, res) => {
        if (req.headers["last-event-id"] === "e1")
          sse(res).end(`id: e2\ndata: ${answer(pending, "resumed")}\n\n`);
        else res.writeHead(405).end();
      },
    );
    const upstream = await ready({ url: server.url });
    expect(await callText(upstream, "t")).toBe("resumed");
    expect(calls).toBe(1);
  });

  it("a server that leaves its event stream open after the answer does not keep the call", async () => {
    const server = await serveLegacy(
      (_req, res, body) => void sse(res).write(`data: ${answer(body.id)}\n\n`),
    );
    const upstream = await ready({ url: server.url });
    expect(await callText(upstream, "t")).toBe("x");
    expect(upstream.inFlight).toBe(0);
  });
});
