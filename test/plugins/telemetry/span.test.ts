import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { definePlugin, GatewayError } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import telemetry, { contextOf, metaOf, withSpan } from "../../../plugins/telemetry/index.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;

describe("trace context of a _meta", () => {
  it("R010: becomes a span context and comes back the same, but for flags that nobody defined", () => {
    const hex = (length: number) =>
      fc
        .bigInt({ min: 1n, max: 16n ** BigInt(length) - 1n })
        .map((value) => value.toString(16).padStart(length, "0"));
    fc.assert(
      fc.property(hex(32), hex(16), fc.nat(255), (traceId, spanId, flags) => {
        const written = flags.toString(16).padStart(2, "0");
        const traceparent = `00-${traceId}-${spanId}-${written}`;
        const span = trace.getSpanContext(contextOf({ traceparent, tracestate: "a=1" }))!;
        expect(span).toMatchObject({ traceId, spanId, traceFlags: flags, isRemote: true });
        expect(metaOf(span)).toEqual({
          traceparent: `00-${traceId}-${spanId}-0${flags % 2}`,
          tracestate: "a=1",
        });
      }),
    );
  });

  it("R070: that is malformed is none: work given it begins a trace of its own", () => {
    expect(contextOf({ traceparent: "00-1-2-03" })).toBe(ROOT_CONTEXT);
    expect(contextOf({})).toBe(ROOT_CONTEXT);
    expect(metaOf({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 1 })).toEqual({});
  });
});

describe("work within a span", () => {
  it("R010: is done with the _meta it was given where there is no SDK", async () => {
    const seen = (meta?: Record<string, unknown>) =>
      withSpan("x", { meta }, (spanned) => Promise.resolve(spanned.meta));
    expect(await seen({ traceparent: TRACEPARENT, baggage: "a=1" })).toEqual({
      traceparent: TRACEPARENT,
      baggage: "a=1",
    });
    expect(await seen({})).toBeUndefined();
    expect(await seen()).toBeUndefined();
    const failing = withSpan("x", {}, () => Promise.reject(new GatewayError("timeout", "late")));
    await expect(failing).rejects.toThrow("late");
  });

  it("goes to the SDK of the application around the gateway, and so do the gateway's calls", async () => {
    const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } =
      await import("@opentelemetry/sdk-trace-base");
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    trace.setGlobalTracerProvider(provider);
    onTestFinished(() => trace.disable());
    const tools = definePlugin({
      name: "tools",
      setup(gateway) {
        gateway.tool("work", {
          description: "Works.",
          run: (_args, { meta }) =>
            withSpan("own", { meta }, () => Promise.reject(new GatewayError("timeout", "late"))),
        });
      },
    });
    const { gateway } = await setupGateway({ plugins: [tools, telemetry], client: false });
    await gateway.call({ server: "tools", name: "work", meta: { traceparent: TRACEPARENT } });
    const [own, call] = exporter.getFinishedSpans();
    expect([own!.name, call!.name]).toEqual(["own", "tools/call work"]);
    expect(call!.spanContext().traceId).toBe(TRACE_ID);
    expect(own!.parentSpanContext?.spanId).toBe(call!.spanContext().spanId);
    expect(own!.attributes).toEqual({ "error.type": "timeout" });
  });
});
