import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import fc from "fast-check";
import { expect, it } from "vitest";
import { describeCall, describeHop, spanNameOf } from "../../../../plugins/telemetry/attributes.ts";
import { spanContextOf } from "../../../../plugins/telemetry/context.ts";
import { CallSpan } from "../../../../plugins/telemetry/spans/call-span.ts";
import { resourceText, spanText } from "../../../../plugins/telemetry/spans/otlp-text.ts";
import { SpanQueue } from "../../../../plugins/telemetry/spans/span-queue.ts";
import { startCollector } from "../collector.ts";

const SETTINGS = { delay: 60_000, maxQueue: 2_048, maxBatch: 512 };
const LIMITS = { count: 128, length: Infinity };
const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const text = fc.string({ unit: "binary", maxLength: 12 });
const value = fc.oneof(
  text,
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(text, { maxLength: 3 }),
);
const attributes = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), value, { maxKeys: 5 });
const anySpan = fc.record({
  name: text,
  kind: fc.constantFrom(0, 1, 2, 3, 4),
  attributes,
  event: fc.option(attributes),
  isLinked: fc.boolean(),
  tracestate: fc.constantFrom(undefined, "a=1,b=2"),
  isChild: fc.boolean(),
  status: fc.constantFrom(0, 1, 2),
});

/** A provider whose spans both the exporter of the SDK and the queue of ours get. */
async function createBoth() {
  const collector = await startCollector();
  const resource = resourceFromAttributes({ "service.name": 'a "name"', "service.instance.id": 5 });
  const exporter = new OTLPTraceExporter({ url: collector.url });
  const written: string[] = [];
  const queue = new SpanQueue({
    settings: SETTINGS,
    limits: LIMITS,
    resource: resourceText(resource),
    send: async (body) => void written.push(body),
  });
  const spanProcessors = [new BatchSpanProcessor(exporter), queue];
  const provider = new BasicTracerProvider({ resource, spanProcessors });
  return { collector, provider, written };
}

function record(tracer: Tracer, input: Parameters<Parameters<typeof anySpan.map>[0]>[0]): void {
  const { name, kind, event, isLinked, tracestate, isChild, status } = input;
  const caller = spanContextOf({ traceparent: PARENT, ...(tracestate && { tracestate }) })!;
  const around = trace.setSpanContext(ROOT_CONTEXT, caller);
  const span = tracer.startSpan(
    name,
    {
      kind,
      attributes: input.attributes,
      ...(isLinked && { links: [{ context: caller, attributes: { of: "link" } }] }),
    },
    isChild ? around : ROOT_CONTEXT,
  );
  if (event) span.addEvent("event", event);
  span.setStatus({ code: status, ...(status === 2 && { message: name }) });
  span.end();
}

it("spans of any kind are written as the exporter of the SDK writes them", async () => {
  const { collector, provider, written } = await createBoth();
  await fc.assert(
    fc.asyncProperty(fc.array(anySpan, { minLength: 1, maxLength: 40 }), async (spans) => {
      for (const [index, span] of spans.entries())
        record(provider.getTracer(`scope ${index % 2}`, index % 2 === 0 ? "1.0" : undefined), span);
      await provider.forceFlush();
      expect(JSON.parse(written.at(-1)!)).toEqual(JSON.parse(collector.bodies.at(-1)!));
    }),
    { numRuns: 40 },
  );
});

it("the span of a relayed call is what the SDK would have made of it", () => {
  const called = fc.record({
    id: fc.constant("c1"),
    method: fc.constantFrom("tools/call", "prompts/get", "resources/read" as const),
    source: fc.constantFrom("mcp", "http", "agent" as const),
    endpoint: fc.constantFrom("", "main"),
    server: text,
    name: text,
  });
  const look = fc.record({
    isHop: fc.boolean(),
    error: fc.constantFrom(undefined, "timeout", "cancelled"),
    version: fc.constantFrom(undefined, "2025-11-25"),
    tracestate: fc.constantFrom(undefined, "a=1,b=2"),
    isRoot: fc.boolean(),
    limits: fc.constantFrom(LIMITS, { count: 128, length: 3 }, { count: 2, length: Infinity }),
  });
  fc.assert(
    fc.property(called, look, (call, { isHop, error, version, tracestate, isRoot, limits }) => {
      const failure = error === undefined ? undefined : { "error.type": error };
      const facts = { transport: "stdio", protocolVersion: version } as const;
      const kind = isHop ? SpanKind.CLIENT : SpanKind.SERVER;
      const about = isHop ? describeHop(call, facts) : describeCall(call);
      const theirs: string[] = [];
      const provider = new BasicTracerProvider({
        spanLimits: { attributeCountLimit: limits.count, attributeValueLengthLimit: limits.length },
        spanProcessors: [
          {
            onStart: () => {},
            onEnd: (ended) => void theirs.push(spanText(ended)),
            forceFlush: async () => {},
            shutdown: async () => {},
          },
        ],
      });
      const caller = spanContextOf({ traceparent: PARENT, ...(tracestate && { tracestate }) })!;
      const around = isRoot ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller);
      const startTime = new Date(1_000);
      const model = provider
        .getTracer("propylon")
        .startSpan(spanNameOf(call), { kind, attributes: about, startTime }, around);
      if (failure) model.setAttributes(failure);
      if (error === "timeout") model.setStatus({ code: SpanStatusCode.ERROR });
      model.end(1_007.25);
      const { traceId, spanId } = model.spanContext();
      const place = {
        traceId,
        spanId,
        parentId: isRoot ? undefined : caller.spanId,
        isParentRemote: !isRoot,
        tracestate: isRoot ? undefined : tracestate,
      };
      const own = new CallSpan(call, place, { kind, ...(isHop && { hop: facts }) });
      own.end(7.25, failure);
      const written = JSON.parse(own.write(limits)) as Record<string, unknown>;
      const expected = JSON.parse(theirs[0]!) as Record<string, unknown>;
      const nanos = (of: Record<string, unknown>) =>
        BigInt(of["endTimeUnixNano"] as string) - BigInt(of["startTimeUnixNano"] as string);
      expect(nanos(written)).toBe(7_250_000n);
      expect({ ...EMPTY, ...written, ...TIMELESS }).toEqual({ ...expected, ...TIMELESS });
    }),
    { numRuns: 300 },
  );
});

/** What stands for nothing, and is left out. */
const EMPTY = {
  droppedAttributesCount: 0,
  events: [],
  droppedEventsCount: 0,
  links: [],
  droppedLinksCount: 0,
};
const TIMELESS = { startTimeUnixNano: "", endTimeUnixNano: "" };
