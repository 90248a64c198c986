import {
  definePlugin,
  type Gateway,
  type GatewayError,
  type Principal,
  type Role,
} from "../../../core/index.ts";
import { expect, it, onTestFinished } from "vitest";
import { createPrincipal } from "../../../core/kit.ts";
import { setupGateway, testPlugin } from "../../../core/testing/index.ts";
import ratelimit, { RateLimits } from "../../../plugins/ratelimit/index.ts";
import { rpc, serveHttp } from "../servers/support/servers.ts";

const RATES = { rates: { caller: { per: "principal", rate: 10 } } };

testPlugin(ratelimit, { config: RATES, changed: { rates: {}, concurrency: {} } });

/** A server over HTTP that answers when told to. */
async function serveUpstream(): Promise<{
  readonly url: string;
  /** Texts of the calls that arrived. */
  readonly arrived: string[];
  /** Answers the oldest call that waits. */
  answer(): void;
  /** From now on at once. */
  answerAll(): void;
}> {
  const open: (() => void)[] = [];
  const arrived: string[] = [];
  let atOnce = false;
  const running = await serveHttp((req, res, body) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    if (body.method === "server/discover")
      return rpc(res, body.id, {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        resultType: "complete",
      });
    if (body.method === "tools/list")
      return rpc(res, body.id, {
        tools: ["read", "write"].map((name) => ({ name, inputSchema: { type: "object" } })),
        resultType: "complete",
      });
    const { arguments: args } = body.params as { arguments?: { text?: string } };
    arrived.push(args?.text ?? "");
    const finish = (): void => rpc(res, body.id, { content: [], resultType: "complete" });
    if (atOnce) finish();
    else open.push(finish);
  });
  onTestFinished(() => running.close());
  return {
    url: running.url,
    arrived,
    answer: () => open.shift()!(),
    answerAll: () => {
      atOnce = true;
      for (const finish of open.splice(0)) finish();
    },
  };
}

async function startGateway(
  options: Record<string, unknown>,
): Promise<{ gateway: Gateway; url: string; up: Awaited<ReturnType<typeof serveUpstream>> }> {
  const up = await serveUpstream();
  const { gateway, url } = await setupGateway({
    plugins: [ratelimit],
    config: {
      listeners: { main: { port: 0 } },
      plugins: { ratelimit: options },
      servers: { up: { url: up.url, protocol: "modern" } },
    },
    client: false,
  });
  await expect.poll(() => gateway.servers.get("up")!.status.state).toBe("ready");
  return { gateway, url, up };
}

function someone(id: string, ...roles: Role[]): Principal {
  return createPrincipal({ id, kind: "key", roles: new Set(roles) });
}

/** `ok`, or the error of a call. */
async function callAs(
  gateway: Gateway,
  principal: Principal,
  name = "read",
  parts: { args?: Record<string, unknown>; signal?: AbortSignal } = {},
): Promise<"ok" | GatewayError> {
  try {
    await gateway.call({ server: "up", name, principal, ...parts });
    return "ok";
  } catch (error) {
    return error as GatewayError;
  }
}

async function metric(gateway: Gateway, line: string): Promise<number> {
  const found = (await (await gateway.manage()).metrics())
    .split("\n")
    .find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1));
}

it("M124: 100 calls at about 100 a second over a bucket of 10 with 10 a second: as many as the bucket's law allows", async () => {
  const { gateway, up } = await startGateway(RATES);
  up.answerAll();
  const ada = someone("ada");
  const calls: Promise<"ok" | GatewayError>[] = [];
  // A bucket of our own, asked at the same times: a machine that stands still for a second fills both.
  let [tokens, allowed, last] = [10, 0, performance.now()];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      tokens = Math.min(10, tokens + (now - last) / 100);
      last = now;
      if (tokens >= 1) [tokens, allowed] = [tokens - 1, allowed + 1];
      calls.push(callAs(gateway, ada));
      if (calls.length < 100) return;
      clearInterval(timer);
      resolve();
    }, 10);
  });
  const ends = await Promise.all(calls);
  const accepted = ends.filter((end) => end === "ok").length;
  expect(Math.abs(accepted - allowed)).toBeLessThanOrEqual(1);
  expect(up.arrived).toHaveLength(accepted);
  expect(await metric(gateway, 'ratelimit_rejected_total{rule="caller"}')).toBe(100 - accepted);
});

it("tells who is refused how much and when: over MCP in data, over HTTP in headers", async () => {
  const { gateway, up } = await startGateway({
    rates: { caller: { per: "principal", rate: 1, interval: "10s", burst: 2 } },
  });
  up.answerAll();
  const ada = someone("ada");
  await callAs(gateway, ada);
  await callAs(gateway, ada);
  const refused = await callAs(gateway, ada);
  expect(refused).toMatchObject({
    code: "rate_limited",
    status: 429,
    data: { limit: 2, remaining: 0, retryAfter: 10, rule: "caller" },
    headers: {
      "retry-after": "10",
      "ratelimit-policy": '"caller";q=2;w=20',
      ratelimit: '"caller";r=0;t=20',
    },
  });
  expect(await callAs(gateway, someone("grace"))).toBe("ok");
});

it("over MCP the refusal carries its numbers", async () => {
  const up = await serveUpstream();
  up.answerAll();
  const { gateway, client } = await setupGateway({
    plugins: [ratelimit],
    config: {
      listeners: { main: { port: 0 } },
      plugins: { ratelimit: { rates: { all: { per: [], rate: 1, interval: "1h" } } } },
      servers: { up: { url: up.url, protocol: "modern" } },
    },
  });
  await expect.poll(() => gateway.servers.get("up")!.status.state).toBe("ready");
  const [tool] = (await client.listTools()).tools;
  await client.callTool({ name: tool!.name });
  await expect(client.callTool({ name: tool!.name })).rejects.toMatchObject({
    code: -32000,
    data: { code: "rate_limited", limit: 1, remaining: 0, retryAfter: 3_600, rule: "all" },
  });
  expect(up.arrived).toHaveLength(1);
});

it("a call that one rule refuses takes nothing from the buckets of the others", async () => {
  const { gateway, up } = await startGateway({
    rates: {
      caller: { per: "principal", rate: 2, interval: "1h" },
      writes: { per: ["principal", "tool"], tool: "wr*", rate: 1, interval: "1h" },
    },
  });
  up.answerAll();
  const ada = someone("ada");
  expect(await callAs(gateway, ada, "write")).toBe("ok");
  expect(await callAs(gateway, ada, "write")).toMatchObject({ data: { rule: "writes" } });
  expect(await callAs(gateway, ada, "read")).toBe("ok");
  expect(await callAs(gateway, ada, "read")).toMatchObject({ data: { rule: "caller" } });
});

it("a rule for a role is for nobody else, and one for a server for no other", async () => {
  const { gateway, up } = await startGateway({
    rates: {
      viewers: { per: "principal", role: "viewer", rate: 1, interval: "1h" },
      others: { per: [], server: "other-*", rate: 1, interval: "1h" },
    },
  });
  up.answerAll();
  const viewer = someone("v", "viewer");
  expect([await callAs(gateway, viewer), await callAs(gateway, viewer)]).toMatchObject([
    "ok",
    { code: "rate_limited" },
  ]);
  const caller = someone("c", "caller");
  expect([await callAs(gateway, caller), await callAs(gateway, caller)]).toEqual(["ok", "ok"]);
});

it("M119: bounds calls at the same time, queues some, refuses the rest, and lets principals take turns", async () => {
  const { gateway, up } = await startGateway({
    concurrency: { server: { per: "server", maxRunning: 2, maxQueue: 4 } },
  });
  const start = (who: string, text: string): Promise<"ok" | GatewayError> =>
    callAs(gateway, someone(who), "read", { args: { text } });
  const running = [start("a", "a1"), start("a", "a2")];
  await expect.poll(() => up.arrived).toEqual(["a1", "a2"]);
  const waiting = [start("a", "a3"), start("a", "a4"), start("b", "b1"), start("b", "b2")];
  expect(await start("a", "a5")).toMatchObject({ code: "rate_limited", data: { rule: "server" } });
  expect(await metric(gateway, 'ratelimit_in_flight{rule="server"}')).toBe(2);
  expect(await metric(gateway, 'ratelimit_queue_depth{rule="server"}')).toBe(4);
  for (let next = 3; next <= 6; next++) {
    up.answer();
    await expect.poll(() => up.arrived).toHaveLength(next);
  }
  expect(up.arrived).toEqual(["a1", "a2", "a3", "b1", "a4", "b2"]);
  up.answerAll();
  expect(await Promise.all([...running, ...waiting])).toEqual(
    Array.from({ length: 6 }, () => "ok"),
  );
  expect(await metric(gateway, 'ratelimit_in_flight{rule="server"}')).toBe(0);
  expect(await metric(gateway, 'ratelimit_rejected_total{rule="server"}')).toBe(1);
});

it("who waits too long is refused, and who goes away while waiting leaves its place", async () => {
  const { gateway, up } = await startGateway({
    concurrency: { all: { per: [], maxRunning: 1, maxQueue: 1, queueTimeout: "50ms" } },
  });
  const first = callAs(gateway, someone("a"));
  await expect.poll(() => up.arrived).toHaveLength(1);
  expect(await callAs(gateway, someone("b"))).toMatchObject({
    code: "rate_limited",
    headers: { "retry-after": "1" },
  });
  const gone = new AbortController();
  const second = callAs(gateway, someone("b"), "read", { signal: gone.signal });
  gone.abort();
  expect(await second).toMatchObject({ code: "cancelled" });
  expect(await metric(gateway, 'ratelimit_queue_depth{rule="all"}')).toBe(0);
  up.answerAll();
  expect(await first).toBe("ok");
  expect(await callAs(gateway, someone("c"))).toBe("ok");
  expect(up.arrived).toHaveLength(2);
});

it("a call under two bounds gives the first back when the second refuses it", async () => {
  const { gateway, up } = await startGateway({
    concurrency: {
      caller: { per: "principal", maxRunning: 2, maxQueue: 0 },
      tool: { per: "tool", maxRunning: 1, maxQueue: 0 },
    },
  });
  const ada = someone("ada");
  const first = callAs(gateway, ada, "read");
  await expect.poll(() => up.arrived).toHaveLength(1);
  expect(await callAs(gateway, ada, "read")).toMatchObject({ data: { rule: "tool" } });
  expect(await metric(gateway, 'ratelimit_in_flight{rule="caller"}')).toBe(1);
  up.answerAll();
  expect(await callAs(gateway, ada, "write")).toBe("ok");
  expect(await first).toBe("ok");
});

it("who waits goes on waiting through a reload that changes the limits", async () => {
  const { gateway, up } = await startGateway({
    concurrency: { all: { per: [], maxRunning: 1, maxQueue: 1 } },
  });
  const first = callAs(gateway, someone("a"));
  await expect.poll(() => up.arrived).toHaveLength(1);
  const second = callAs(gateway, someone("b"));
  const reload = gateway.apply({
    listeners: { main: { port: 0 } },
    plugins: { ratelimit: { concurrency: {} } },
    servers: { up: { url: up.url, protocol: "modern" } },
  });
  up.answerAll();
  expect([await first, await second]).toEqual(["ok", "ok"]);
  expect((await reload).plugins.changed).toEqual(["ratelimit"]);
});

it("who still waits when the gateway closes is told so at once", async () => {
  const { gateway, up } = await startGateway({
    concurrency: { all: { per: [], maxRunning: 1, maxQueue: 1, queueTimeout: "1h" } },
  });
  const first = callAs(gateway, someone("a"));
  await expect.poll(() => up.arrived).toHaveLength(1);
  const second = callAs(gateway, someone("b"));
  await gateway.close({ grace: 0 });
  expect(await first).not.toBe("ok");
  expect(await second).toMatchObject({ code: "draining", status: 503 });
  expect(up.arrived).toHaveLength(1);
});

it("tells faces what is left, without taking anything", async () => {
  let read: ((name: string) => Readonly<Record<string, string>>) | undefined;
  const face = definePlugin({
    name: "face",
    inject: { limits: RateLimits },
    setup({ services }) {
      read = (name) =>
        services.limits.headersOf({
          method: "tools/call",
          server: "face",
          name,
          principal: someone("ada"),
        });
    },
  });
  await setupGateway({
    plugins: [
      face,
      [
        ratelimit,
        {
          rates: {
            caller: { per: "principal", rate: 5 },
            writes: { per: "tool", tool: "w*", rate: 1, interval: "1m" },
          },
        },
      ],
    ],
    client: false,
  });
  expect(read!("read")).toEqual({
    "ratelimit-policy": '"caller";q=5;w=1',
    ratelimit: '"caller";r=5;t=0',
  });
  expect(read!("write")).toEqual({
    "ratelimit-policy": '"caller";q=5;w=1, "writes";q=1;w=60',
    ratelimit: '"caller";r=5;t=0, "writes";r=1;t=0',
  });
});
