import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import { rpc, serveHttp, type Running } from "../servers/support/servers.ts";
import { modernMeta, openSession, post, postModern } from "./kit.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
const CALL = { name: "t", arguments: {} };

/** A server of one era with the tool `t`; it records what it is sent. */
async function serveUpstream(era: "legacy" | "modern"): Promise<Running> {
  const server = await serveHttp((req, res, body) => {
    if (req.method === "GET") return void res.writeHead(405).end();
    const { id, method } = body;
    if (id === undefined) return void res.writeHead(202).end();
    const common = { capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } };
    const modern = era === "modern" && { resultType: "complete", ttlMs: 0, cacheScope: "private" };
    const results: Record<string, object> = {
      ...(era === "modern"
        ? { "server/discover": { supportedVersions: ["2026-07-28"], ...common, ...modern } }
        : { initialize: { protocolVersion: "2025-11-25", ...common } }),
      "tools/list": { tools: [{ name: "t", inputSchema: { type: "object" } }], ...modern },
      "tools/call": { content: [], ...modern },
    };
    if (results[method]) return rpc(res, id, results[method]);
    rpc(res, id, undefined, { code: -32601, message: "no" });
  });
  onTestFinished(() => server.close());
  return server;
}

/** What reached the upstream of one call: the trace headers, and `_meta`. */
function lastCall(upstream: Running): { headers: object; meta: Record<string, unknown> } {
  const { headers, body } = upstream.requests.findLast(
    (request) => (request.body as { method?: string } | undefined)?.method === "tools/call",
  )!;
  const { traceparent, tracestate, baggage } = headers;
  const { params } = body as { params: { _meta?: Record<string, unknown> } };
  return { headers: { traceparent, tracestate, baggage }, meta: params._meta ?? {} };
}

async function start(era: "legacy" | "modern") {
  const upstream = await serveUpstream(era);
  const { gateway } = await setupGateway({
    client: false,
    config: {
      servers: { up: { url: upstream.url } },
      endpoints: { main: { path: "/mcp", naming: "none" } },
    },
  });
  await expect.poll(() => gateway.servers.get("up")?.status.state).toBe("ready");
  return { upstream, url: new URL(gateway.endpoints[0]!.url) };
}

describe.each(["legacy", "modern"] as const)("trace context to a server of the %s era", (era) => {
  it("R010, R070: goes from HTTP headers to _meta and HTTP headers, of both eras of clients, with no plugin at all", async () => {
    const { upstream, url } = await start(era);
    const sent = { traceparent: TRACEPARENT, tracestate: "a=1", baggage: "user=7" };
    const session = await openSession(url);
    await post(
      url,
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: CALL },
      { ...session, ...sent },
    );
    expect(lastCall(upstream).headers).toEqual(sent);
    expect(lastCall(upstream).meta).toMatchObject(sent);
    await postModern(url, 2, "tools/call", CALL, { ...sent, traceparent: OTHER });
    expect(lastCall(upstream).headers).toEqual({ ...sent, traceparent: OTHER });
    expect(lastCall(upstream).meta).toMatchObject({ ...sent, traceparent: OTHER });
  });

  it("R010: what _meta says outranks the headers", async () => {
    const { upstream, url } = await start(era);
    const params = { ...CALL, _meta: modernMeta({}, { traceparent: OTHER }) };
    await postModern(url, 1, "tools/call", params, { traceparent: TRACEPARENT, tracestate: "a=1" });
    expect(lastCall(upstream).headers).toEqual({ traceparent: OTHER });
    expect(lastCall(upstream).meta["traceparent"]).toBe(OTHER);
  });

  it("R070: a malformed traceparent reaches no server, neither from _meta nor from a header", async () => {
    const { upstream, url } = await start(era);
    const broken = { traceparent: "00-1-2-03", tracestate: "a=1" };
    const evil = { traceparent: `${OTHER}\r\nx-evil: 1`, baggage: "a=1\r\nx-evil: 1", kept: 1 };
    await postModern(url, 1, "tools/call", CALL, broken);
    expect(lastCall(upstream).headers).toEqual({});
    await postModern(url, 2, "tools/call", { ...CALL, _meta: modernMeta({}, evil) }, broken);
    const { headers, meta } = lastCall(upstream);
    expect(headers).toEqual({});
    expect(meta).toMatchObject({ kept: 1 });
    expect(Object.keys(meta)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(?:trace(?:parent|state)|baggage)$/)]),
    );
  });

  it("a request without trace context costs its server no header and no _meta", async () => {
    const { upstream, url } = await start(era);
    const session = await openSession(url);
    await post(url, { jsonrpc: "2.0", id: 1, method: "tools/call", params: CALL }, session);
    const { headers, meta } = lastCall(upstream);
    expect(headers).toEqual({});
    expect(Object.keys(meta).filter((key) => !key.startsWith("io."))).toEqual([]);
  });
});
