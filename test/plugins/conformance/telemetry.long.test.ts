import { gzipSync } from "node:zlib";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, it, onTestFinished } from "vitest";
import { startCollector } from "../../../plugins/conformance/runtime/collector.ts";

const OTHER = "0123456789abcdef0123456789abcdef";

it("R052, R070: the kit's collector finds the trace of a span that the official exporter sent", async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const span = provider.getTracer("test").startSpan("work");
  span.end();
  await provider.forceFlush();
  expect(collector.saw(span.spanContext().traceId)).toBe(true);
  expect(collector.saw(OTHER)).toBe(false);
  await provider.shutdown();
});

it("finds it in protobuf, packed or not, and nowhere but in traces", async () => {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  const [first, second, third] = ["aa", "bb", "cc"].map((byte) => byte.repeat(16));
  const post = (path: string, body: Buffer, encoding?: string): Promise<number> =>
    fetch(`${collector.url}${path}`, {
      method: "POST",
      body: new Uint8Array(body),
      headers: {
        "content-type": "application/x-protobuf",
        ...(encoding !== undefined && { "content-encoding": encoding }),
      },
    }).then(({ status }) => status);
  const spanOf = (traceId: string): Buffer =>
    Buffer.concat([Buffer.from([10, 18, 10, 16]), Buffer.from(traceId, "hex")]);
  expect(await post("/v1/traces", spanOf(first!))).toBe(200);
  expect(await post("/v1/traces", gzipSync(spanOf(second!)), "gzip")).toBe(200);
  expect(await post("/v1/metrics", spanOf(third!))).toBe(200);
  expect(await post("/v1/traces", Buffer.from("no gzip"), "gzip")).toBe(400);
  expect([first, second, third].map((id) => collector.saw(id!))).toEqual([true, true, false]);
});
