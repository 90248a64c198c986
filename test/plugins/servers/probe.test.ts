import { randomUUID } from "node:crypto";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeUpstream, reached } from "./support/calls.ts";
import { rpc, serveHttp, serveNew, serveOld, type Handler } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();
const CHILD = fileURLToPath(new URL("support/child.mjs", import.meta.url));
const within = (ms: number): AbortSignal => AbortSignal.timeout(ms);

/** A legacy server that answers `initialize` after a while, keeps sessions and counts what is asked at once. */
async function serveSessions({ delay = 0, stream = false } = {}) {
  const seen = { live: new Set<string>(), opened: 0, asked: 0, atOnce: 0 };
  const handler: Handler = async (req, res, body) => {
    if (req.method === "DELETE") {
      seen.live.delete(String(req.headers["mcp-session-id"]));
      return void res.writeHead(200).end();
    }
    if (body?.method !== "initialize") return void res.writeHead(202).end();
    seen.atOnce = Math.max(seen.atOnce, ++seen.asked);
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    seen.asked--;
    seen.opened++;
    const session = randomUUID();
    seen.live.add(session);
    res.setHeader("mcp-session-id", session);
    const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };
    if (!stream) return rpc(res, body.id, result);
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: body.id, result })}\n\n`);
  };
  return { ...use(await serveHttp(handler)), seen };
}

async function failureOf(probe: Promise<unknown>) {
  return probe.then(
    () => expect.unreachable("the probe should fail"),
    (error: Error & { code: string; data: Record<string, unknown> }) => error,
  );
}

describe("a probe", () => {
  it("P061, P063, P064, P065: is POST initialize with the configured headers, then DELETE of its session", async () => {
    const server = await serveSessions();
    const upstream = use(
      makeUpstream({ url: server.url, headers: { Authorization: "Bearer k1", "X-Team": "a" } }),
    );
    const { era, latency } = await upstream.probe(within(3_000));
    expect(era).toBe("legacy");
    expect(latency).toBeGreaterThan(0);
    await expect.poll(() => server.requests).toHaveLength(2);
    const [asked, ended] = server.requests;
    expect(asked).toMatchObject({
      method: "POST",
      body: { method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {} } },
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        authorization: "Bearer k1",
        "x-team": "a",
      },
    });
    expect(ended).toMatchObject({
      method: "DELETE",
      headers: { authorization: "Bearer k1", "mcp-protocol-version": "2025-11-25" },
    });
    expect(server.seen.live.size).toBe(0);
  });

  it("understands an answer that comes as an event stream", async () => {
    const server = await serveSessions({ stream: true });
    const upstream = use(makeUpstream({ url: server.url }));
    await expect(upstream.probe(within(3_000))).resolves.toMatchObject({ era: "legacy" });
    await expect
      .poll(() => server.requests.map(({ method }) => method))
      .toEqual(["POST", "DELETE"]);
  });

  it("sends no DELETE where no session was opened", async () => {
    const server = use(
      await serveHttp((_req, res, body) =>
        rpc(res, body.id, { protocolVersion: "2025-06-18", capabilities: {} }),
      ),
    );
    const upstream = use(makeUpstream({ url: server.url }));
    await upstream.probe(within(3_000));
    await upstream.close(0);
    expect(server.requests.map(({ method }) => method)).toEqual(["POST"]);
  });

  it("P066: leaves no session behind, not one of 1,000", async () => {
    const server = await serveSessions();
    const upstream = use(makeUpstream({ url: server.url }));
    for (let count = 0; count < 1_000; count++) await upstream.probe(within(3_000));
    await expect.poll(() => server.seen.live.size).toBe(0);
    expect(server.seen.opened).toBe(1_000);
  });

  it("P066: ends a session too that was opened after nobody waited for it any more", async () => {
    const server = await serveSessions({ delay: 200 });
    const upstream = use(makeUpstream({ url: server.url }));
    const error = await failureOf(upstream.probe(within(50)));
    expect(error.data["failed"]).toBe("transport");
    expect(server.seen.opened).toBe(0);
    await expect.poll(() => server.requests.at(-1)?.method).toBe("DELETE");
    expect(server.seen).toMatchObject({ opened: 1, live: new Set() });
  });

  it("is one at a time, however many ask", async () => {
    const server = await serveSessions({ delay: 20 });
    const upstream = use(makeUpstream({ url: server.url }));
    await Promise.all(Array.from({ length: 6 }, () => upstream.probe(within(3_000))));
    expect(server.seen).toMatchObject({ opened: 6, atOnce: 1 });
  });

  it("asks a server of the modern era in its own words, and remembers that it is one", async () => {
    const server = use(await serveNew(() => undefined));
    const upstream = use(makeUpstream({ url: server.url }));
    const asked = (): unknown[] =>
      server.requests.map(({ body }) => (body as { method: string }).method);
    await expect(upstream.probe(within(3_000))).resolves.toMatchObject({ era: "modern" });
    expect(asked()).toEqual(["initialize", "server/discover"]);
    await upstream.probe(within(3_000));
    expect(asked()).toEqual(["initialize", "server/discover", "server/discover"]);
  });

  it("finds a server that went back to the legacy era", async () => {
    const modern = use(await serveNew(() => undefined));
    const upstream = use(makeUpstream({ url: modern.url }));
    await upstream.probe(within(3_000));
    await modern.close();
    const old = use(await serveOld(() => undefined, modern.port));
    await expect(upstream.probe(within(3_000))).resolves.toMatchObject({ era: "legacy" });
    expect(old.requests.map(({ method }) => method)).toContain("POST");
  });

  it("asks a child on the connection it has", async () => {
    const upstream = use(makeUpstream({ command: process.execPath, args: [CHILD] }));
    upstream.start();
    await expect(upstream.probe(within(10_000))).resolves.toMatchObject({ era: "legacy" });
    // A probe is answered before the lists are read.
    await reached(upstream, "ready");
    const { pid } = upstream.status;
    await upstream.probe(within(3_000));
    expect(upstream.status.pid).toBe(pid);
  });

  it("says of a child that does not start that it is not available", async () => {
    const upstream = use(
      makeUpstream({ command: process.execPath, args: ["-e", "process.exit(3)"] }),
    );
    upstream.start();
    await reached(upstream, "backoff");
    const error = await failureOf(upstream.probe(within(3_000)));
    expect(error).toMatchObject({ code: "upstream_error", data: { failed: "transport" } });
    expect(error.message).toContain('Server "test" is not available (backoff).');
  });

  it("brings calls back at once when it finds that the server is back", async () => {
    const gone = await serveOld(() => undefined);
    await gone.close();
    const upstream = use(makeUpstream({ url: gone.url, backoff: { initial: "60s", max: "60s" } }));
    upstream.start();
    await reached(upstream, "backoff");
    await failureOf(upstream.probe(within(3_000)));
    expect(upstream.status.state).toBe("backoff");
    use(await serveOld(() => undefined, gone.port));
    await upstream.probe(within(3_000));
    await reached(upstream, "ready");
  });

  it("ends with the upstream, whatever the server does", async () => {
    const sockets = new Set<Socket>();
    const silence = createServer(
      (socket) => void sockets.add(socket.resume().on("error", () => undefined)),
    );
    await new Promise<void>((resolve) => silence.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(silence.address() as AddressInfo).port}/mcp`;
    const upstream = makeUpstream({ url });
    const probing = failureOf(upstream.probe(within(60_000)));
    await expect.poll(() => sockets.size).toBe(1);
    await upstream.close(0);
    expect((await probing).data["failed"]).toBeDefined();
    await expect.poll(() => [...sockets].every((socket) => socket.destroyed)).toBe(true);
    await new Promise((resolve) => silence.close(resolve));
  });
});
