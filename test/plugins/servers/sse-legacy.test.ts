import type { ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { Progress } from "propylon";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callText, makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { type Running, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

interface SseServer extends Running {
  readonly servers: McpServer[];
  readonly streams: ServerResponse[];
}

async function serveSse(): Promise<SseServer> {
  const transports = new Map<string, SSEServerTransport>();
  const servers: McpServer[] = [];
  const streams: ServerResponse[] = [];
  const running = await serveHttp(async (req, res, body) => {
    if (req.method === "GET") {
      const transport = new SSEServerTransport("/messages", res);
      const server = new McpServer({ name: "sse", version: "1.0.0" });
      server.registerTool(
        "echo",
        { inputSchema: { text: z.string() } },
        async ({ text }, { _meta, sendNotification }) => {
          if (_meta?.progressToken !== undefined)
            await sendNotification({
              method: "notifications/progress",
              params: { progressToken: _meta.progressToken, progress: 1 },
            });
          return { content: [{ type: "text", text }] };
        },
      );
      transports.set(transport.sessionId, transport);
      servers.push(server);
      streams.push(res);
      return server.connect(transport);
    }
    const session = new URL(req.url!, "http://x").searchParams.get("sessionId") ?? "";
    await transports.get(session)?.handlePostMessage(req, res, body);
  });
  return { ...running, servers, streams };
}

describe.each(["builtin", "undici"] as const)("HTTP+SSE (2024-11-05), %s", (httpClient) => {
  it("lists, calls, reports progress and list changes", async () => {
    const server = use(await serveSse());
    const upstream = use(makeUpstream({ url: server.url, transport: "sse" }, { httpClient }));
    upstream.start();
    await reached(upstream, "ready");
    expect(upstream.status).toMatchObject({ transport: "sse", era: "legacy" });
    const seen: Progress[] = [];
    expect(
      await callText(
        upstream,
        "echo",
        { text: "hallo" },
        { progress: (progress) => void seen.push(progress) },
      ),
    ).toBe("hallo");
    expect(seen).toEqual([{ progress: 1 }]);
    const changed = nextEvent(upstream, "changed");
    server.servers.at(-1)!.registerTool("two", {}, () => ({ content: [] }));
    await changed;
    expect(upstream.catalogue.tools.map(({ name }) => name)).toEqual(["echo", "two"]);
  });

  it("a broken stream is opened again, and the next call works", async () => {
    const server = use(await serveSse());
    const upstream = use(makeUpstream({ url: server.url, transport: "sse" }, { httpClient }));
    upstream.start();
    await reached(upstream, "ready");
    const redial = nextEvent(upstream, "state", ({ status }) => status.state === "connecting");
    server.streams.at(-1)!.destroy();
    await redial;
    expect(await callText(upstream, "echo", { text: "again" })).toBe("again");
  });

  it.each(["http://evil.example/messages", "//evil.example/x", "https://127.0.0.1/x"])(
    "an endpoint on another origin is refused: %s",
    async (endpoint) => {
      const server = use(
        await serveHttp(
          (_req, res) =>
            void res
              .writeHead(200, { "content-type": "text/event-stream" })
              .write(`event: endpoint\ndata: ${endpoint}\n\n`),
        ),
      );
      const upstream = use(makeUpstream({ url: server.url, transport: "sse" }, { httpClient }));
      upstream.start();
      await reached(upstream, "backoff");
      expect(upstream.status.reason).toContain("another origin");
    },
  );

  it("a server without such a stream is a visible state", async () => {
    const server = use(await serveHttp((_req, res) => void res.writeHead(405).end()));
    const upstream = use(makeUpstream({ url: server.url, transport: "sse" }, { httpClient }));
    upstream.start();
    await reached(upstream, "backoff");
    expect(upstream.status.reason).toContain("HTTP 405");
  });
});
