import { context, trace } from "@opentelemetry/api";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { definePlugin, GatewayError, type Json } from "../../../core/index.ts";
import { setupGateway, testPlugin, type GatewaySetup } from "../../../core/testing/index.ts";
import telemetry from "../../../plugins/telemetry/index.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { orphans, startCollector } from "./collector.ts";
import { serveUpstream } from "./upstream.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const PARENT_ID = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE_ID}-${PARENT_ID}-01`;

testPlugin(telemetry, {
  config: { endpoint: "http://127.0.0.1:9", interval: "1h" },
  changed: { endpoint: "http://127.0.0.1:9", sampling: 0.5 },
});

/** Tools in the process that end in every way, and one that calls another. */
const tools = definePlugin({
  name: "tools",
  setup(gateway) {
    const plain = (name: string, run: () => string | Json): void =>
      void gateway.tool(name, { description: name, run });
    plain("fine", () => "fine");
    plain("fails", () => ({ content: [{ type: "text", text: "my-secret" }], isError: true }));
    gateway.use("gate", (call, next) => {
      if (call.name !== "refused") return next(call);
      throw new GatewayError("forbidden", "my-secret is not yours.");
    });
    plain("refused", () => "never");
    gateway.use("validate", async (call, next) => {
      if (call.args?.["twice"] !== true) return next(call);
      const [answer] = await Promise.all([next(call), next(call)]);
      return answer;
    });
    gateway.tool("outer", {
      description: "Calls another tool.",
      run: async (_args, { meta, signal }) => {
        await gateway.call({ server: "tools", name: "fine", signal });
        await gateway.call({ server: "tools", name: "fine", signal, meta });
        return JSON.stringify(meta);
      },
    });
  },
});

async function start(setup: Omit<GatewaySetup, "plugins"> & { options?: Json } = {}) {
  const collector = await startCollector();
  const { options, ...others } = setup;
  const config = { endpoint: collector.url, interval: "1h", ...options };
  const started = await setupGateway({ plugins: [tools, [telemetry, config]], ...others });
  return { collector, ...started };
}

const withTrace = (name: string) => ({
  name,
  arguments: {},
  _meta: { traceparent: TRACEPARENT, tracestate: "v=1" },
});

describe("a call", () => {
  it("R010, R070: is a server span below the traceparent it came with, and the hop to its server a client span below that", async () => {
    const upstream = await serveUpstream();
    const { collector, client, gateway } = await start({
      config: { servers: { up: { url: upstream.url } } },
    });
    await client.callTool(withTrace("t"));
    await gateway.close();
    const [served, hop] = collector.spans
      .filter(({ name }) => name === "tools/call t")
      .toSorted((a, b) => a.kind - b.kind);
    expect(served).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: PARENT_ID,
      kind: 2,
      status: 0,
    });
    expect(hop).toMatchObject({ traceId: TRACE_ID, parentSpanId: served!.spanId, kind: 3 });
    expect(served!.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "t",
      "propylon.server": "up",
    });
    expect(hop!.attributes).toMatchObject({
      "network.transport": "tcp",
      "mcp.protocol.version": "2025-11-25",
    });
    const sent = upstream.calls.at(-1)!;
    const expected = { traceparent: `00-${TRACE_ID}-${hop!.spanId}-01`, tracestate: "v=1" };
    expect(sent.headers).toMatchObject(expected);
    expect(sent.meta).toEqual(expected);
  });

  it("has a trace of its own without a traceparent, and calls that it makes belong below it", async () => {
    const { collector, client, gateway } = await start();
    const { content } = await client.callTool({ name: "outer", arguments: {} });
    await gateway.close();
    const outer = collector.spans.find(({ name }) => name === "tools/call outer")!;
    expect(outer.parentSpanId).toBe("");
    const inner = collector.spans.filter(({ name }) => name === "tools/call fine");
    expect(inner.map(({ parentSpanId, kind }) => [parentSpanId, kind])).toEqual([
      [outer.spanId, 1],
      [outer.spanId, 1],
    ]);
    const [{ text }] = content as [{ text: string }];
    expect(JSON.parse(text)).toEqual({
      traceparent: `00-${outer.traceId}-${outer.spanId}-01`,
    });
  });

  it("tells how it failed without the words, which may hold secrets", async () => {
    const upstream = await serveUpstream();
    const { collector, client, gateway } = await start({
      config: { servers: { up: { url: upstream.url } } },
    });
    await client.callTool({ name: "fails", arguments: { password: "my-secret" } });
    await expect(client.callTool({ name: "refused", arguments: {} })).rejects.toThrow("my-secret");
    await expect(client.callTool({ name: "broken", arguments: {} })).rejects.toThrow("my-secret");
    await gateway.close();
    const types = collector.spans
      .filter(({ status }) => status === 2)
      .map(({ name, kind, attributes }) => [name, kind, attributes["error.type"]]);
    expect(types.map((row) => row.join(" ")).toSorted()).toEqual([
      "tools/call broken 2 -32050",
      "tools/call broken 3 -32050",
      "tools/call fails 2 tool_error",
      "tools/call refused 2 forbidden",
    ]);
    expect(collector.bodies.join("")).not.toContain("my-secret");
  });

  it("is recorded in histograms with the buckets of the conventions, and so are sessions", async () => {
    const upstream = await serveUpstream();
    const { collector, client, gateway } = await start({
      config: { servers: { up: { url: upstream.url } } },
    });
    await client.callTool({ name: "t", arguments: {} });
    await client.callTool({ name: "fails", arguments: {} });
    await gateway.close();
    const series = [...collector.histograms.values()];
    const rows = series.map(({ name, count, attributes }) => {
      const labels = [attributes["gen_ai.tool.name"], attributes["error.type"]];
      return [name, count, ...labels.filter((label) => label !== undefined)].map(String).join(" ");
    });
    expect(rows.toSorted()).toEqual([
      "mcp.client.operation.duration 1 t",
      "mcp.server.operation.duration 1 fails tool_error",
      "mcp.server.operation.duration 1 t",
      "mcp.server.session.duration 1",
    ]);
    const bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
    expect(series.map((each) => each.bounds)).toEqual(series.map(() => bounds));
  });

  it("shows arguments only where asked to, and never the values of secret names", async () => {
    const { collector, client, gateway } = await start({ options: { captureArguments: true } });
    const args = { text: "plain", apiKey: "my-secret", nested: { Authorization: "my-secret" } };
    await client.callTool({ name: "fine", arguments: args });
    await gateway.close();
    const { attributes } = collector.spans.find(({ name }) => name === "tools/call fine")!;
    expect(attributes["gen_ai.tool.call.arguments"]).toBe(
      '{"text":"plain","apiKey":"[redacted]","nested":{"Authorization":"[redacted]"}}',
    );
  });
});

describe("exporting", () => {
  it("R052: goes to OTEL_EXPORTER_OTLP_ENDPOINT, as OTEL_SERVICE_NAME, with the headers of the environment", async () => {
    const collector = await startCollector();
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url);
    vi.stubEnv("OTEL_SERVICE_NAME", "from-environment");
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=seven");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { client, gateway } = await setupGateway({ plugins: [tools, telemetry] });
    await client.callTool({ name: "fine", arguments: {} });
    await gateway.close();
    expect(collector.spans.map(({ service }) => service)).toEqual(["from-environment"]);
    expect(collector.headers[0]).toMatchObject({ "x-tenant": "seven" });
    expect([...collector.histograms.keys()].join()).toContain("mcp.server.operation.duration");
  });

  it("has the name of the service from the config before that of the environment", async () => {
    const collector = await startCollector();
    vi.stubEnv("OTEL_SERVICE_NAME", "from-environment");
    onTestFinished(() => void vi.unstubAllEnvs());
    const options = { endpoint: collector.url, serviceName: "from-config" };
    const { client, gateway } = await setupGateway({ plugins: [tools, [telemetry, options]] });
    await client.callTool({ name: "fine", arguments: {} });
    await gateway.close();
    expect(collector.spans.map(({ service }) => service)).toEqual(["from-config"]);
  });

  it.each([
    ["there is no endpoint", {}],
    ["OTEL_SDK_DISABLED says so", { OTEL_SDK_DISABLED: "true", endpoint: true }],
    [
      "both exporters are none",
      { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none", endpoint: true },
    ],
  ])(
    "R052: does not happen when %s; trace context is passed on all the same",
    async (_why, set) => {
      const collector = await startCollector();
      const { endpoint, ...environment } = set as { endpoint?: boolean } & Record<string, string>;
      for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
      onTestFinished(() => void vi.unstubAllEnvs());
      const upstream = await serveUpstream();
      const { client, gateway } = await setupGateway({
        plugins: [[telemetry, endpoint ? { endpoint: collector.url } : {}]],
        config: { servers: { up: { url: upstream.url } } },
      });
      await client.callTool(withTrace("t"));
      await gateway.close();
      expect(collector.bodies).toEqual([]);
      expect(upstream.calls.map(({ headers }) => headers["traceparent"])).toContain(TRACEPARENT);
    },
  );

  it("keeps the share asked for of traces that begin here, and follows the caller of others", async () => {
    const { collector, client, gateway } = await start({ options: { sampling: 0 } });
    await client.callTool({ name: "fine", arguments: {} });
    await client.callTool(withTrace("outer"));
    await gateway.close();
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
    expect(orphans(collector.spans, new Set([PARENT_ID]))).toEqual([]);
  });

  it("R010: a call whose trace is not kept is measured at every hop, and tells its server so", async () => {
    const upstream = await serveUpstream();
    const { collector, client, gateway } = await start({
      options: { sampling: 0 },
      config: { servers: { up: { url: upstream.url } } },
    });
    await client.callTool({ name: "t", arguments: {} });
    await gateway.close();
    expect(collector.spans).toEqual([]);
    const told = upstream.calls.map(({ headers }) => headers["traceparent"]);
    expect(told.at(-1)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const measured = [...collector.histograms.values()].map(({ name }) => name);
    expect(measured).toContain("mcp.client.operation.duration");
  });

  it.each([0, 1])(
    "is measured at both hops where a stage makes two at once, with a sampling of %s",
    async (sampling) => {
      const upstream = await serveUpstream();
      const { collector, client, gateway } = await start({
        options: { sampling },
        config: { servers: { up: { url: upstream.url } } },
      });
      await client.callTool({ name: "t", arguments: { twice: true } });
      await gateway.close();
      expect(collector.spans.filter(({ name }) => name === "tools/call t")).toHaveLength(
        3 * sampling,
      );
      const counts = [...collector.histograms.values()]
        .filter(({ attributes }) => attributes["gen_ai.tool.name"] === "t")
        .map(({ name, count }) => [name, count]);
      expect(Object.fromEntries(counts)).toEqual({
        "mcp.server.operation.duration": 1,
        "mcp.client.operation.duration": 2,
      });
    },
  );

  it("loses no span through reloads, with the same settings and with others", async () => {
    const { collector, client, gateway } = await start();
    const other = await startCollector();
    const call = () => client.callTool({ name: "fine", arguments: {} });
    const apply = (options: Json) =>
      gateway.apply({
        listeners: { main: { port: 0 } },
        plugins: { tools: {}, telemetry: options },
      });
    const same = { endpoint: collector.url, interval: "1h" };
    await call();
    await apply({ ...same, captureArguments: true });
    await call();
    await Promise.all([call(), apply({ ...same, endpoint: other.url }), call()]);
    await call();
    await gateway.close();
    expect(collector.spans.length + other.spans.length).toBe(5);
    expect(other.spans.length).toBeGreaterThanOrEqual(1);
  });

  it("a collector that is away holds up neither calls nor the end of the gateway", async () => {
    const { collector, client, gateway } = await start();
    collector.status = 503;
    await client.callTool({ name: "fine", arguments: {} });
    const started = performance.now();
    await gateway.close();
    expect(performance.now() - started).toBeLessThan(PATIENCE * 8_000);
    expect(collector.bodies.length).toBeGreaterThan(0);
  });

  it("takes back what it registered for the process, and leaves what an application registered", async () => {
    const { gateway, client } = await start();
    await client.callTool({ name: "fine", arguments: {} });
    const span = (): string => trace.getTracer("x").startSpan("probe").spanContext().traceId;
    expect(span()).not.toBe("0".repeat(32));
    await gateway.close();
    expect(span()).toBe("0".repeat(32));
    const { BasicTracerProvider } = await import("@opentelemetry/sdk-trace-base");
    const provider = new BasicTracerProvider();
    trace.setGlobalTracerProvider(provider);
    onTestFinished(() => trace.disable());
    const embedded = await start();
    await embedded.gateway.close();
    expect(span()).not.toBe("0".repeat(32));
    expect(context.active().getValue(Symbol.for("x"))).toBeUndefined();
  });
});
