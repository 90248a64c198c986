import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { freePort } from "../../../core/testing/index.ts";
import type { Clock } from "../../../plugins/servers/wire/clock.ts";
import type { Upstream } from "../../../plugins/servers/upstream/upstream.ts";
import { callText, makeCall, makeUpstream, nextEvent, reached } from "./support/calls.ts";
import { rpc, serveHttp, serveNew, serveOld } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();
const echo = (mcp: Parameters<Parameters<typeof serveOld>[0]>[0]): void =>
  void mcp.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: "text", text }],
  }));

/** A clock that stands still until told. */
class ManualClock implements Clock {
  time = Date.UTC(2026, 0, 1);
  chance = 1;
  readonly timers = new Map<() => void, number>();

  now(): number {
    return this.time;
  }
  random(): number {
    return this.chance;
  }
  after(ms: number, callback: () => void): () => void {
    this.timers.set(callback, this.time + ms);
    return () => this.timers.delete(callback);
  }
  /** Milliseconds until the one timer set. */
  get next(): number {
    return Math.min(...this.timers.values()) - this.time;
  }
  advance(ms: number): void {
    this.time += ms;
    for (const [callback, at] of this.timers) {
      if (at > this.time) continue;
      this.timers.delete(callback);
      callback();
    }
  }
}

/** A server that accepts connections and never says a word. */
async function serveSilence(): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer(
    (socket) => void sockets.add(socket.on("error", () => undefined)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close };
}

function begin(config: object, options = {}): Upstream {
  const upstream = use(makeUpstream(config, options));
  upstream.start();
  return upstream;
}

describe("backoff", () => {
  it("waits 2, 4, 8 ... seconds up to the cap, visible with reason, attempts and next attempt", async () => {
    const clock = new ManualClock();
    const upstream = begin(
      { url: `http://127.0.0.1:${await freePort()}/mcp`, backoff: { initial: "2s", max: "10s" } },
      { clock },
    );
    for (const [index, wait] of [2_000, 4_000, 8_000, 10_000, 10_000].entries()) {
      await reached(upstream, "backoff");
      expect(clock.next).toBe(wait);
      expect(upstream.status).toMatchObject({
        attempts: index + 1,
        nextRetryAt: new Date(clock.time + wait).toISOString(),
      });
      expect(upstream.status.reason).toContain("the connection was refused");
      clock.advance(wait);
      expect(upstream.status.state).toBe("connecting");
    }
  });

  it("newcomer 7: an outage begins when the server was lost, not when it was tried last", async () => {
    const clock = new ManualClock();
    const port = await freePort();
    const first = await serveOld(echo, port);
    const upstream = begin({ url: first.url, backoff: { initial: "2s", max: "2s" } }, { clock });
    await reached(upstream, "ready");
    expect(upstream.status).not.toHaveProperty("downSince", expect.any(String));
    await first.close();
    clock.advance(60_000);
    const lost = new Date(clock.time).toISOString();
    await upstream.reconnect();
    await reached(upstream, "backoff");
    for (const attempts of [1, 2]) {
      expect(upstream.status).toMatchObject({ attempts, downSince: lost });
      clock.advance(2_000);
      expect(upstream.status).toMatchObject({ state: "connecting", attempts, downSince: lost });
      expect(upstream.status.since).not.toBe(lost);
      await reached(upstream, "backoff");
    }
    use(await serveOld(echo, port));
    clock.advance(2_000);
    await reached(upstream, "ready");
    expect(upstream.status.downSince).toBeUndefined();
  });

  it.each([
    [0, 1_000],
    [0.999999, 2_000],
  ])("is shortened by up to half (chance %d)", async (chance, wait) => {
    const clock = new ManualClock();
    clock.chance = chance;
    const upstream = begin({ url: `http://127.0.0.1:${await freePort()}/mcp` }, { clock });
    await reached(upstream, "backoff");
    expect(clock.next).toBeCloseTo(wait, 0);
  });

  it("Retry-After is honoured up to the cap", async () => {
    const server = use(
      await serveHttp((_req, res) => void res.writeHead(429, { "retry-after": "7" }).end()),
    );
    const clock = new ManualClock();
    const upstream = begin({ url: server.url, backoff: { initial: "2s", max: "60s" } }, { clock });
    await reached(upstream, "backoff");
    expect(clock.next).toBe(7_000);
    const impatient = begin(
      { url: server.url, backoff: { initial: "2s", max: "5s" } },
      { clock: new ManualClock() },
    );
    await reached(impatient, "backoff");
    expect(Date.parse(impatient.status.nextRetryAt!) - Date.parse(impatient.status.since)).toBe(
      5_000,
    );
  });

  it("a call waits in the first backoff of a server over HTTP, and has the answer of the next attempt", async () => {
    const clock = new ManualClock();
    const port = await freePort();
    const upstream = begin({ url: `http://127.0.0.1:${port}/mcp` }, { clock });
    await reached(upstream, "backoff");
    const abort = new AbortController();
    const impatient = upstream.request(makeCall("echo", {}, { signal: abort.signal }));
    const waiting = callText(upstream, "echo", { text: "waited" });
    expect(upstream.inFlight).toBe(2);
    abort.abort();
    await expect(impatient).rejects.toMatchObject({ code: "cancelled" });
    use(await serveOld(echo, port));
    clock.advance(2_000);
    expect(await waiting).toBe("waited");
  });

  it("a call that waits in the first backoff fails when the next attempt does, or there is none", async () => {
    const clock = new ManualClock();
    const config = { url: `http://127.0.0.1:${await freePort()}/mcp` };
    const [unlucky, removed] = [begin(config, { clock }), begin(config)];
    await Promise.all([reached(unlucky, "backoff"), reached(removed, "backoff")]);
    const calls = [unlucky, removed].map((upstream) => callText(upstream, "echo", { text: "x" }));
    const ends = Promise.allSettled(calls);
    clock.advance(2_000);
    await removed.close(0);
    expect(await ends).toMatchObject([
      { reason: { code: "upstream_error", data: { state: "backoff" } } },
      { reason: { code: "upstream_error", data: { state: "closed" } } },
    ]);
  });

  it("a call fails at once in a later backoff, and waits for the outcome while connecting", async () => {
    const clock = new ManualClock();
    const port = await freePort();
    const upstream = begin({ url: `http://127.0.0.1:${port}/mcp` }, { clock });
    await reached(upstream, "backoff");
    clock.advance(2_000);
    await reached(upstream, "backoff");
    await expect(callText(upstream, "echo", { text: "x" })).rejects.toMatchObject({
      code: "upstream_error",
      message: `Server "test" is not available (backoff). Next attempt at ${upstream.status.nextRetryAt}.`,
      data: { nextRetryAt: upstream.status.nextRetryAt },
    });
    use(await serveOld(echo, port));
    clock.advance(4_000);
    expect(upstream.status.state).toBe("connecting");
    expect(await callText(upstream, "echo", { text: "waited" })).toBe("waited");
  });

  it("a waiting call ends with its own signal", async () => {
    const silence = use(await serveSilence());
    const upstream = begin({ url: silence.url });
    const abort = new AbortController();
    const call = upstream.request(makeCall("echo", {}, { signal: abort.signal }));
    expect(upstream.inFlight).toBe(1);
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    expect(upstream.inFlight).toBe(0);
  });
});

it("acceptance 7: one dead, one hanging, one slow, one 401; the others serve, and all recover without a restart", async () => {
  const port = await freePort();
  const silence = use(await serveSilence());
  let [open, allowed] = [(): void => undefined, false];
  const gate = new Promise<void>((resolve) => (open = resolve));
  const backend = use(await serveOld(echo));
  const forward: Parameters<typeof serveHttp>[0] = async (req, res, body) => {
    const response = await fetch(backend.url, {
      method: req.method!,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(req.headers["mcp-session-id"] && {
          "mcp-session-id": String(req.headers["mcp-session-id"]),
        }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    res.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
    for await (const chunk of response.body ?? []) res.write(chunk);
    res.end();
  };
  const slow = use(
    await serveHttp(async (req, res, body) => (await gate, forward(req, res, body))),
  );
  const locked = use(
    await serveHttp((req, res, body) =>
      allowed
        ? forward(req, res, body)
        : void res.writeHead(401, { "www-authenticate": 'Bearer realm="s3cret"' }).end("s3cret"),
    ),
  );
  const config = { connectTimeout: "700ms", backoff: { initial: "100ms", max: "300ms" } };
  const healthy = begin({ url: backend.url });
  const dead = begin({ url: `http://127.0.0.1:${port}/mcp`, ...config });
  const hanging = begin({ url: silence.url, ...config });
  const slowly = begin({ url: slow.url });
  const unauthorized = begin({ url: locked.url, ...config });
  expect(await callText(healthy, "echo", { text: "served" })).toBe("served");

  await Promise.all([
    reached(dead, "backoff"),
    reached(hanging, "backoff"),
    reached(unauthorized, "backoff"),
  ]);
  expect(dead.status.reason).toContain("refused");
  expect(hanging.status.reason).toContain("did not finish the handshake within 0.7 s");
  expect(unauthorized.status.reason).toContain("wants authentication (HTTP 401)");
  expect(JSON.stringify(unauthorized.status)).not.toContain("s3cret");
  expect(slowly.status).toMatchObject({ state: "connecting", reason: expect.any(String) });
  expect(healthy.status.state).toBe("ready");

  open();
  allowed = true;
  use(await serveOld(echo, port));
  await Promise.all([
    reached(slowly, "ready"),
    reached(unauthorized, "ready"),
    reached(dead, "ready"),
  ]);
  for (const upstream of [slowly, unauthorized, dead])
    expect(await callText(upstream, "echo", { text: "back" })).toBe("back");
  expect(dead.status).toMatchObject({ attempts: 0, reason: undefined });
});

describe("a server that goes away", () => {
  it("a legacy server restarted in mid-session is re-initialised, and the call made meanwhile succeeds", async () => {
    const first = await serveOld(echo);
    const upstream = begin({ url: first.url });
    await reached(upstream, "ready");
    await first.close();
    const second = use(await serveOld(echo, first.port));
    await fetch(second.url); // by then the gateway has seen the old sockets close
    expect(await callText(upstream, "echo", { text: "again" })).toBe("again");
    expect(
      second.requests.filter(
        ({ body }) => (body as { method?: string } | undefined)?.method === "tools/call",
      ).length,
    ).toBeLessThanOrEqual(2);
    await reached(upstream, "ready");
    expect(await callText(upstream, "echo", { text: "later" })).toBe("later");
  });

  it.each([
    [404, { code: -32001, message: "Session not found" }],
    [400, { code: -32000, message: "Bad Request: No valid session ID provided" }],
  ])(
    "a session lost (HTTP %d) is opened anew, and each of 20 calls is sent again exactly once",
    async (status, error) => {
      let session = "s1";
      const calls: string[] = [];
      const server = use(
        await serveHttp((req, res, body) => {
          if (req.method !== "POST") return void res.writeHead(405).end();
          if (body.method === "initialize") {
            res.setHeader("mcp-session-id", session);
            return rpc(res, body.id, {
              protocolVersion: "2025-06-18",
              capabilities: {},
              serverInfo: { name: "x", version: "1" },
            });
          }
          if (req.headers["mcp-session-id"] !== session) {
            if (body.method === "tools/call") calls.push("refused");
            return void res
              .writeHead(status, { "content-type": "application/json" })
              .end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
          }
          if (body.id === undefined) return void res.writeHead(202).end();
          calls.push("ran");
          rpc(res, body.id, { content: [{ type: "text", text: "ran" }] });
        }),
      );
      const upstream = begin({ url: server.url, protocol: "legacy" });
      await reached(upstream, "ready");
      session = "s2";
      const texts = await Promise.all(Array.from({ length: 20 }, () => callText(upstream, "t")));
      expect(texts).toEqual(texts.map(() => "ran"));
      expect(calls.filter((each) => each === "ran")).toHaveLength(20);
      expect(
        server.requests.filter(
          ({ body }) => (body as { method?: string } | undefined)?.method === "initialize",
        ),
      ).toHaveLength(2);
    },
  );

  it("a server that forgets every session gets each call twice and no more", async () => {
    let calls = 0;
    const server = use(
      await serveHttp((req, res, body) => {
        if (req.method !== "POST") return void res.writeHead(405).end();
        if (body.method === "initialize") {
          res.setHeader("mcp-session-id", "gone");
          return rpc(res, body.id, {
            protocolVersion: "2025-11-25",
            capabilities: {},
            serverInfo: { name: "x", version: "1" },
          });
        }
        if (body.method === "tools/call") calls++;
        res.writeHead(body.id === undefined ? 202 : 404).end();
      }),
    );
    const upstream = begin({ url: server.url, protocol: "legacy" });
    await reached(upstream, "ready");
    await expect(callText(upstream, "t")).rejects.toMatchObject({ code: "upstream_error" });
    expect(calls).toBe(2);
  });

  it("a modern server restarted between two calls is simply called", async () => {
    const setup = (mcp: Parameters<Parameters<typeof serveNew>[0]>[0]): void =>
      void mcp.registerTool(
        "echo",
        { inputSchema: z.object({ text: z.string() }) },
        ({ text }) => ({ content: [{ type: "text", text }] }),
      );
    const first = await serveNew(setup);
    const upstream = begin({ url: first.url });
    await reached(upstream, "ready");
    await first.close();
    const second = use(await serveNew(setup, "reject", first.port));
    await fetch(second.url); // by then the gateway has seen the old sockets close
    expect(await callText(upstream, "echo", { text: "again" })).toBe("again");
  });

  it("its last known tools stay listed while it is away", async () => {
    const server = await serveOld(echo);
    const upstream = begin({ url: server.url });
    await reached(upstream, "ready");
    const { catalogue } = upstream;
    const down = nextEvent(upstream, "state", ({ status }) => status.state === "backoff");
    await server.close();
    await expect(callText(upstream, "echo", { text: "x" })).rejects.toMatchObject({
      code: "upstream_error",
    });
    await down;
    expect(upstream.catalogue).toBe(catalogue);
    expect(catalogue.tools).toHaveLength(1);
  });

  it("reconnect drops the connection and comes back", async () => {
    const server = use(await serveOld(echo));
    const upstream = begin({ url: server.url });
    await reached(upstream, "ready");
    await upstream.reconnect();
    await reached(upstream, "ready");
    expect(server.requests.filter(({ method }) => method === "DELETE")).toHaveLength(1);
    expect(await callText(upstream, "echo", { text: "x" })).toBe("x");
  });

  it("close waits for the calls in flight, at most for the grace time", async () => {
    let finish = (): void => undefined;
    const server = use(
      await serveOld(
        (mcp) =>
          void mcp.registerTool(
            "work",
            {},
            () =>
              new Promise(
                (resolve) =>
                  (finish = () => resolve({ content: [{ type: "text", text: "done" }] })),
              ),
          ),
      ),
    );
    const upstream = begin({ url: server.url });
    await reached(upstream, "ready");
    const work = callText(upstream, "work");
    await expect
      .poll(() => finish.length + Number(finish.toString().includes("done")))
      .toBeGreaterThan(0);
    const closed = upstream.close(10_000);
    finish();
    expect(await work).toBe("done");
    await closed;
    const other = begin({ url: server.url });
    await reached(other, "ready");
    const stuck = callText(other, "work").catch((error: unknown) => error);
    await other.close(50);
    expect(await stuck).toMatchObject({ code: "upstream_error" });
  });
});
