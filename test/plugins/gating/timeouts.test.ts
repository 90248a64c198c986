import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Json } from "propylon";
import type { Timeouts } from "propylon/internal";
import { optionsSchema } from "../../../plugins/gating/options.ts";
import { clamp, createRule, META_TIMEOUT, type Timed } from "../../../plugins/gating/timeouts.ts";
import { rpc, serveHttp } from "../servers/support/servers.ts";
import { lowest } from "../../fixtures/lowest.ts";
import { until } from "../../kit/until.ts";
import { setupGating } from "./kit.ts";

const call = (more: Partial<Timed> = {}): Timed => ({
  method: "tools/call",
  server: "s",
  name: "t",
  timeout: undefined,
  meta: undefined,
  ...more,
});

function ruleOf(
  options: object,
  allowance: Timeouts = { default: 60_000 },
): (call: Timed) => object {
  return createRule(optionsSchema.parse(options), () => allowance);
}

const thrown = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("the clamp", () => {
  const time = fc.double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true });

  it("M034, M037, M100: is above zero, never above the maximum, and the wish itself where that fits", () => {
    fc.assert(
      fc.property(time, time, (wish, max) => {
        const effective = clamp(wish, max);
        expect(effective).toBeGreaterThan(0);
        expect(effective).toBeLessThanOrEqual(max);
        expect(effective).toBe(wish <= max ? wish : max);
      }),
    );
  });

  it("M034: no source of a timeout gets past the maximum", () => {
    const ms = fc.integer({ min: 1, max: 1e9 });
    const maybe = fc.option(ms, { nil: undefined });
    fc.assert(
      fc.property(ms, maybe, maybe, maybe, ms, (max, wish, tool, server, gateway) => {
        const rule = createRule(optionsSchema.parse({ timeouts: { max: `${max}ms` } }), () => ({
          default: gateway,
          ...(tool !== undefined && { tool }),
          ...(server !== undefined && { server }),
        }));
        const { total, clamped } = rule(call({ timeout: wish }));
        const asked = wish ?? tool ?? server ?? gateway;
        expect(total).toBe(Math.min(asked, max));
        expect(clamped).toBe(wish !== undefined && wish > max);
      }),
    );
  });
});

describe("the rule", () => {
  const timeouts = { default: 4, servers: { s: 3 }, tools: { "s/t": 2 } };

  it("M007, M033, M039: the caller's, the tool's, the server's, the default, in this order", () => {
    const total = (options: object, own: Timeouts, more: Partial<Timed> = {}) =>
      (ruleOf({ timeouts: options }, own)(call(more)) as { total: number }).total;
    const own = { tool: 50, server: 60, default: 70 };
    expect(total(timeouts, own, { timeout: 1_000 })).toBe(1_000);
    expect(total(timeouts, own)).toBe(2_000);
    expect(total({ ...timeouts, tools: {} }, own)).toBe(50);
    expect(total({ ...timeouts, tools: {} }, { server: 60, default: 70 })).toBe(3_000);
    expect(total({ default: 4 }, { server: 60, default: 70 })).toBe(60);
    expect(total({ default: 4 }, { default: 70 })).toBe(4_000);
    expect(total({}, { default: 70 })).toBe(70);
    expect(total(timeouts, own, { method: "prompts/get" })).toBe(50);
  });

  it("takes a wish from _meta: seconds or a duration; an own timeout of the call beats it", () => {
    const rule = ruleOf({});
    const asked = (wish: unknown) => rule(call({ meta: { [META_TIMEOUT]: wish } }));
    expect(asked(1.5)).toEqual({ total: 1_500, clamped: false });
    expect(asked("2")).toEqual({ total: 2_000, clamped: false });
    expect(asked("250ms")).toEqual({ total: 250, clamped: false });
    expect(rule(call({ timeout: 5, meta: { [META_TIMEOUT]: 9 } }))).toEqual({
      total: 5,
      clamped: false,
    });
  });

  it.each([0, -1, "soon", "", null, {}, [], true, Number.NaN, "1e999", "-3s"])(
    "refuses %j with a sentence",
    (wish) => {
      const error = thrown(() => ruleOf({})(call({ meta: { [META_TIMEOUT]: wish } })));
      expect(error).toMatchObject({ code: "invalid", status: 422, data: { max: 600 } });
    },
  );

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])("refuses a timeout of %d", (timeout) => {
    expect(thrown(() => ruleOf({})(call({ timeout })))).toMatchObject({ code: "invalid" });
  });

  it("M100: above the maximum is clamped and said, or rejected; in mcpo's words when asked to", () => {
    const wish = call({ timeout: 20_000 });
    expect(ruleOf({ timeouts: { max: 10 } })(wish)).toEqual({ total: 10_000, clamped: true });
    const reject = { timeouts: { max: 10, overMax: "reject" } };
    expect(thrown(() => ruleOf(reject)(wish))).toMatchObject({ code: "invalid", status: 422 });
    expect(thrown(() => ruleOf({ ...reject, mcpoCompat: true })(wish))).toMatchObject({
      code: "invalid_timeout",
      status: 400,
      data: { max: 10 },
    });
    expect(ruleOf(reject)(call({ timeout: 10_000 }))).toEqual({ total: 10_000, clamped: false });
  });

  it("options that cannot be kept are refused when the config is read", () => {
    for (const bad of [
      { max: 0 },
      { default: "0s" },
      { max: 5, default: 6 },
      { max: 5, tools: { "s/t": 6 } },
      { tools: { t: 1 } },
    ])
      expect(optionsSchema.safeParse({ timeouts: bad }).success).toBe(false);
  });
});

/** An upstream that never answers `tools/call` before it is told to. */
async function serveSlow() {
  const waiting = new Map<string, () => void>();
  const server = await serveHttp((req, res, body) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    if (body.id === undefined) return void res.writeHead(202).end();
    if (body.method === "initialize")
      return rpc(res, body.id, {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "slow", version: "1" },
      });
    if (body.method === "tools/list")
      return rpc(res, body.id, {
        tools: ["slow", "fast"].map((name) => ({ name, inputSchema: { type: "object" } })),
      });
    if (body.method !== "tools/call") return rpc(res, body.id, {});
    const answer = () => rpc(res, body.id, { content: [{ type: "text", text: "done" }] });
    if (body.params["name"] === "fast") answer();
    else waiting.set(body.id, answer);
  });
  onTestFinished(() => server.close());
  return { server, waiting };
}

describe("a call that takes too long", () => {
  it("M009, M033, M038, M039: ends at its limit with timeout, its server is told, the late answer is dropped, the next call is fine", async () => {
    const { server, waiting } = await serveSlow();
    const { gateway } = await setupGating(
      { timeouts: { tools: { "slow/slow": "200ms" } } },
      { servers: { slow: { url: server.url, protocol: "legacy" } } },
    );
    await until(() => gateway.servers.get("slow")!.status.state === "ready");
    let rounds = 0;
    const timed = async (): Promise<number> => {
      rounds++;
      const from = performance.now();
      const error = await gateway.call({ server: "slow", name: "slow" }).catch((e: unknown) => e);
      const took = performance.now() - from;
      expect(error).toMatchObject({ code: "timeout", status: 504, data: { timeout: 200 } });
      // A timer may be a fraction early.
      expect(took).toBeGreaterThan(195);
      return took;
    };
    expect(await lowest(350, timed)).toBeLessThan(350);
    const methods = () => server.requests.map(({ body }) => (body as Json | undefined)?.["method"]);
    const told = () => methods().filter((name) => name === "notifications/cancelled").length;
    await until(() => told() === rounds);
    for (const answer of waiting.values()) answer();
    const next = await gateway.call({ server: "slow", name: "fast" });
    expect(next.result).toMatchObject({ content: [{ text: "done" }] });
  });

  it("M034, M037: a caller gets what it asks for, at most the maximum", async () => {
    const { server } = await serveSlow();
    const { gateway, service } = await setupGating(
      { timeouts: { max: "100ms" } },
      { servers: { slow: { url: server.url, protocol: "legacy" } } },
    );
    await until(() => gateway.servers.get("slow")!.status.state === "ready");
    const limitOf = (timeout: number) =>
      gateway
        .call({ server: "slow", name: "slow", timeout })
        .catch((e: { data: object }) => e.data);
    expect(await limitOf(50)).toEqual({ timeout: 50 });
    expect(await limitOf(5_000)).toEqual({ timeout: 100 });
    expect(service.deadlineOf(call({ server: "slow", timeout: 5_000 }))).toEqual({
      total: 100,
      clamped: true,
    });
  });
});
