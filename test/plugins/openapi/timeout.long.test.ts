import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { effectiveTimeout, requestedTimeout } from "../../../plugins/openapi/call/timeout.ts";
import { definePlugin } from "propylon";
import { Gating, type GatingService } from "propylon/plugins/gating";
import gating from "../../../plugins/gating/index.ts";
import { lowest } from "../../fixtures/lowest.ts";
import { createSlow, get, post, refusal, startOpenapi, waitForCount } from "./support.ts";

function outcomeOf(decide: () => unknown): unknown {
  try {
    decide();
    return "ok";
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

describe("the timeout a request asks for", () => {
  it.each([
    [null, "", undefined],
    [null, "?other=1", undefined],
    ["2", "", 2_000],
    [null, "?timeout=2", 2_000],
    ["0.25", "?timeout=9", 250],
    ["1500ms", "", 1_500],
    [null, "?timeout=2m", 120_000],
  ])("M035 M036: header %j and query %j give %j ms", (header, query, ms) => {
    expect(requestedTimeout(header, query)).toBe(ms);
  });

  const call = { method: "tools/call", server: "s", name: "t", meta: undefined } as const;
  const decide = (header: string | null, search: string) =>
    effectiveTimeout(undefined, { ...call, timeout: requestedTimeout(header, search) });

  it.each([
    "0",
    "-1",
    "abc",
    "",
    " ",
    "NaN",
    "Infinity",
    "1e3",
    "30, 40",
    "1,5",
    "0x10",
    "5 parsecs",
  ])("%j is refused, in the header and in the query", (text) => {
    const invalid = expect.objectContaining({ code: "invalid" });
    expect(() => decide(text, "")).toThrow(invalid);
    expect(() => decide(null, `?timeout=${encodeURIComponent(text)}`)).toThrow(invalid);
  });

  it("is a whole number of milliseconds above zero, or refused", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String)), (text) => {
        const ms = requestedTimeout(text, "") ?? 0;
        expect(outcomeOf(() => decide(text, ""))).toBe(
          Number.isFinite(ms) && ms > 0 ? "ok" : "invalid",
        );
        expect(ms > 0 && Number.isFinite(ms) ? Math.round(ms) : ms).toBe(ms);
      }),
    );
  });

  it("T23: reads a long run of spaces once, not once for each of them", () => {
    // 4.5 * 10^10 steps otherwise.
    expect(requestedTimeout(`1${" ".repeat(300_000)}!`, "")).toBeNaN();
  });
});

describe("timeouts over HTTP", () => {
  it.each([
    ["header", "", { "x-tool-timeout": "0.2" }],
    ["query", "?timeout=0.2", {}],
    ["header before query", "?timeout=30", { "x-tool-timeout": "200ms" }],
  ])(
    "M008 M009 M038: %s ends the call with 504 within 150 ms of the limit, and the tool with it",
    async (_name, query, headers) => {
      const { plugin, calls } = createSlow();
      const { url } = await startOpenapi({}, [plugin]);
      const timed = async (): Promise<number> => {
        const from = performance.now();
        const { status, body } = await post(`${url}/slow/wait${query}`, {}, headers);
        const took = performance.now() - from;
        expect(status).toBe(504);
        expect(body).toEqual(refusal("timeout"));
        expect(took).toBeGreaterThanOrEqual(190);
        return took;
      };
      expect(await lowest(350, timed)).toBeLessThan(350);
      for (const call of calls) expect(call).toMatchObject({ reason: { code: "timeout" } });
      // The late result goes nowhere and the next call is fine.
      calls.at(-1)!.finish();
      const before = calls.length;
      const next = post(`${url}/slow/wait`, { text: "next" });
      await waitForCount(calls, before + 1);
      calls.at(-1)!.finish();
      expect((await next).body).toMatchObject({ ok: true, result: "next" });
    },
  );

  it("keeps ?timeout out of the arguments", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    const { body } = await post(`${url}/slow/strict?timeout=5`, { amount: 2 });
    expect(body).toMatchObject({ ok: true, result: 4 });
  });

  it("refuses garbage and zero with 422", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    for (const text of ["0", "soon"]) {
      const header = await post(`${url}/slow/wait`, {}, { "x-tool-timeout": text });
      const query = await post(`${url}/slow/wait?timeout=${text}`);
      for (const { status, body } of [header, query])
        expect({ status, body }).toEqual({ status: 422, body: refusal("invalid") });
    }
  });
});

describe("timeouts with gating", () => {
  const limits = { max: 1, tools: { "slow/wait": 0.2 } };
  const start = (timeouts: Record<string, unknown>, plugin: ReturnType<typeof createSlow>) =>
    startOpenapi({}, [plugin.plugin, [gating, { state: false, timeouts }]], {
      timeouts: { default: 0.5 },
    });

  it.each([
    ["a tool's own default", {}, 200, null],
    ["a request below it", { "x-tool-timeout": "0.1" }, 100, null],
    ["one above the maximum that is clamped", { "x-tool-timeout": "60" }, 1_000, "1"],
  ])("M039 M100: %s", async (_name, headers, limit, effective) => {
    const { url } = await start(limits, createSlow());
    const timed = async (): Promise<number> => {
      const from = performance.now();
      const reply = await post(`${url}/slow/wait`, {}, headers);
      const took = performance.now() - from;
      expect(reply).toMatchObject({ status: 504, body: refusal("timeout") });
      expect(reply.headers.get("x-tool-timeout-effective")).toBe(effective);
      expect(took).toBeGreaterThanOrEqual(limit - 10);
      return took;
    };
    expect(await lowest(limit + 150, timed)).toBeLessThan(limit + 150);
  });

  it("M100: rejects above the maximum where that is what was chosen", async () => {
    const slow = createSlow();
    const { url } = await start({ ...limits, overMax: "reject" }, slow);
    const { status, body } = await post(`${url}/slow/wait?timeout=60`);
    expect({ status, body }).toEqual({ status: 422, body: refusal("invalid") });
    expect(slow.calls).toEqual([]);
  });

  it("speaks of invalid timeouts as mcpo does, where gating does", async () => {
    const slow = createSlow();
    const compatible = [gating, { state: false, mcpoCompat: true }] as const;
    const { url } = await startOpenapi({}, [slow.plugin, compatible]);
    const { status, body } = await post(`${url}/slow/wait?timeout=soon`);
    expect({ status, body }).toEqual({ status: 400, body: refusal("invalid_timeout") });
  });

  it("refuses a disabled tool with 403 before it runs, by its path and by /invoke", async () => {
    const slow = createSlow();
    let flags: GatingService | undefined;
    const holder = definePlugin({
      name: "holder",
      inject: { gating: Gating },
      setup: ({ services }) => void (flags = services.gating),
    });
    const { url } = await startOpenapi({}, [slow.plugin, [gating, { state: false }], holder]);
    expect((await get(`${url}/slow/openapi.json`)).body.paths).toHaveProperty("/wait");
    await flags!.set([{ server: "slow", tool: "wait", enabled: false }], "test");
    for (const reply of [
      await post(`${url}/slow/wait`),
      await post(`${url}/slow/invoke`, { tool: "wait" }),
    ])
      expect(reply).toMatchObject({ status: 403, body: refusal("disabled") });
    expect(slow.calls).toEqual([]);
    expect((await get(`${url}/slow/openapi.json`)).body.paths).not.toHaveProperty("/wait");
  });
});

/** A server over stdio by the official SDK that is connected only after a while, or never. */
function lateServer(afterMs: number | undefined) {
  const script = `
    import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
    import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
    const server = new McpServer({ name: "late", version: "1" });
    server.registerTool("hello", {}, () => ({ content: [{ type: "text", text: "hello" }] }));
    ${afterMs === undefined ? "setInterval(() => {}, 1_000)" : `setTimeout(() => server.connect(new StdioServerTransport()), ${afterMs})`};
  `;
  const args = ["--input-type=module", "--eval", script];
  return { command: process.execPath, args, connectTimeout: "60s" };
}

describe("a call to a server that is still connecting", () => {
  const servers = { late: lateServer(undefined) };

  it("ends with its own limit, whoever set it", async () => {
    const asked = await startOpenapi({}, [], { servers });
    for (const path of ["/late/hello", "/late/invoke"])
      expect(await post(`${asked.url}${path}`, {}, { "x-tool-timeout": "300ms" })).toMatchObject({
        status: 504,
        body: refusal("timeout"),
      });
    const usual = await startOpenapi({}, [], { servers, timeouts: { default: 0.3 } });
    expect((await post(`${usual.url}/late/hello`)).status).toBe(504);
    const limits = { state: false, timeouts: { max: 0.3 } };
    const gated = await startOpenapi({}, [[gating, limits]], { servers });
    expect((await post(`${gated.url}/late/hello`)).status).toBe(504);
    const own = { late: { ...lateServer(undefined), timeout: "300ms" } };
    const { url } = await startOpenapi({}, [], { servers: own });
    expect((await post(`${url}/late/hello`)).status).toBe(504);
  });

  it("leaves the server what is left of it", async () => {
    const seen: (number | undefined)[] = [];
    const watcher = definePlugin({
      name: "watcher",
      setup: (gateway) =>
        gateway.use("observe", (call, next) => {
          seen.push(call.timeout);
          return next(call);
        }),
    });
    const late = { late: lateServer(1_000) };
    const { url } = await startOpenapi({}, [watcher], { servers: late });
    const call = () => post(`${url}/late/hello`, {}, { "x-tool-timeout": "30" });
    expect((await call()).body).toMatchObject({ ok: true, result: "hello" });
    expect((await call()).body).toMatchObject({ ok: true, result: "hello" });
    // It waited at least until its process was up.
    expect(seen[0]).toBeLessThan(30_000);
    expect(seen[1]).toBe(30_000);
  });
});
