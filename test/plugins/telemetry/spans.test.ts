import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { describeCall, describeHop, spanNameOf } from "../../../plugins/telemetry/attributes.ts";
import { spanContextOf } from "../../../plugins/telemetry/context.ts";
import { Exports } from "../../../plugins/telemetry/exports.ts";
import { optionsSchema, readSettings } from "../../../plugins/telemetry/options.ts";
import { CallSpan } from "../../../plugins/telemetry/spans/call-span.ts";
import { OtlpSender, type SenderSettings } from "../../../plugins/telemetry/spans/otlp-sender.ts";
import { resourceText, spanText } from "../../../plugins/telemetry/spans/otlp-text.ts";
import { TraceSampler } from "../../../plugins/telemetry/spans/sampler.ts";
import { SpanQueue, type QueuedSpan } from "../../../plugins/telemetry/spans/span-queue.ts";
import { PATIENCE } from "../../fixtures/ci.ts";
import { startCollector } from "./collector.ts";

const SETTINGS = { delay: 60_000, maxQueue: 2_048, maxBatch: 512 };
const LIMITS = { count: 128, length: Infinity };
const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const text = fc.string({ unit: "binary", maxLength: 12 });
const value = fc.oneof(
  text,
  fc.boolean(),
  fc.integer(),
  // Beyond, the exporter of the SDK writes whole numbers that no field of OTLP can hold.
  fc.double({ noNaN: true, min: -(2 ** 62), max: 2 ** 62 }),
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
    send: async (body) => void written.push(String(body)),
    tell: () => {},
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

it("a span with an attribute that JSON has no word for spoils no batch", async () => {
  const written: string[] = [];
  const queue = new SpanQueue({
    settings: SETTINGS,
    limits: LIMITS,
    resource: "{}",
    send: async (body) => void written.push(String(body)),
    tell: () => {},
  });
  const tracer = new BasicTracerProvider({ spanProcessors: [queue] }).getTracer("scope");
  const holes: number[] = [1];
  holes[2] = 3;
  const odd = {
    holes,
    huge: 1e21,
    none: Number.NaN,
    far: -Infinity,
  };
  tracer.startSpan("odd", { attributes: odd }).end();
  const late = tracer.startSpan("late");
  late.addEvent("never", new Date("nonsense"));
  late.end();
  tracer.startSpan("good").end();
  await queue.forceFlush();
  const [scope] = JSON.parse(written.join()).resourceSpans[0].scopeSpans;
  const [first, ...others] = scope.spans;
  expect(others.map(({ name }: { name: string }) => name)).toEqual(["good"]);
  expect(first.attributes.map(({ value: each }: { value: unknown }) => each)).toEqual([
    { arrayValue: { values: [{ intValue: 1 }, {}, { intValue: 3 }] } },
    { doubleValue: 1e21 },
    { doubleValue: "NaN" },
    { doubleValue: "-Infinity" },
  ]);
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

it("keeps the traces that the samplers of the SDK keep", () => {
  const id = (length: number) =>
    fc
      .bigInt({ min: 1n, max: 16n ** BigInt(length) - 1n })
      .map((number) => number.toString(16).padStart(length, "0"));
  const caller = fc.option(fc.record({ spanId: id(16), traceFlags: fc.constantFrom(0, 1, 3) }));
  const ratio = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  fc.assert(
    fc.property(ratio, id(32), caller, fc.boolean(), (share, traceId, around, followsCaller) => {
      const own = new TraceSampler({ ratio: share, followsCaller });
      const root = new TraceIdRatioBasedSampler(share);
      const theirs = followsCaller ? new ParentBasedSampler({ root }) : root;
      const context = around
        ? trace.setSpanContext(ROOT_CONTEXT, { traceId, ...around })
        : ROOT_CONTEXT;
      const { decision } = theirs.shouldSample(context, traceId, "name", 0, {}, []);
      expect(own.shouldSample(context, traceId)).toEqual({ decision });
      expect(own.keeps(traceId, around?.traceFlags)).toBe(
        decision === SamplingDecision.RECORD_AND_SAMPLED,
      );
    }),
    { numRuns: 1_000 },
  );
});

describe("spans on their way to a collector", () => {
  const span = (more: Partial<QueuedSpan> = {}): QueuedSpan => ({
    scope: '"scope":{"name":"s"}',
    size: 10,
    write: () => '{"name":"x"}',
    ...more,
  });

  const spansIn = (body: Buffer): number => String(body).split('{"name":"x"}').length - 1;

  function setup(send: (body: Buffer) => Promise<string | undefined>, maxQueue = 100) {
    const told: string[] = [];
    const tell = (reason: string): void => void told.push(reason);
    const settings = { delay: 60_000, maxQueue, maxBatch: 20 };
    const limits = { count: 128, length: Infinity };
    const queue = new SpanQueue({ settings, limits, resource: "{}", send, tell });
    return { queue, told };
  }

  it("go in batches, one at a time, and all of them with the end of the gateway", async () => {
    const bodies: Buffer[] = [];
    let running = 0;
    const { queue, told } = setup(async (body) => {
      expect(++running).toBe(1);
      await new Promise(setImmediate);
      running--;
      bodies.push(body);
    });
    for (let n = 0; n < 50; n++) queue.add(span());
    await queue.forceFlush();
    expect(bodies.map(spansIn)).toEqual([20, 20, 10]);
    for (let n = 0; n < 50; n++) queue.add(span());
    await queue.shutdown();
    expect(bodies.map(spansIn)).toEqual([20, 20, 10, 50]);
    expect(told).toEqual([]);
  });

  it("are dropped and counted where a collector does not keep up", async () => {
    let answer = (_reason?: string): void => {};
    const { queue, told } = setup(
      () => new Promise((resolve) => (answer = (reason) => resolve(reason))),
    );
    for (let n = 0; n < 20; n++) queue.add(span());
    const first = queue.forceFlush();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    for (let n = 0; n < 1_000; n++) queue.add(span());
    answer("the collector answers 500");
    const pump = setInterval(() => answer(), 1);
    onTestFinished(() => clearInterval(pump));
    await first;
    expect(told).toEqual([
      "20 spans are lost: the collector answers 500",
      "900 spans found no room to wait and are lost.",
    ]);
  });

  it("are counted to the end, and no flush waits for what comes behind it", async () => {
    const { queue, told } = setup(async () => {
      queue.add(span());
      return undefined;
    });
    queue.add(span());
    await queue.forceFlush();
    await queue.shutdown();
    queue.add(span());
    await queue.shutdown();
    expect(told).toEqual([
      "1 spans found no room to wait and are lost.",
      "1 spans found no room to wait and are lost.",
    ]);
  });

  it("take no more than 16 MiB of memory, and 4 MiB of an export", async () => {
    const bodies: Buffer[] = [];
    const { queue, told } = setup(async (body) => void bodies.push(body), 1_000);
    const large = span({ size: 1_024 * 1_024 });
    for (let n = 0; n < 18; n++) queue.add(large);
    await queue.forceFlush();
    expect(bodies.map(spansIn)).toEqual([4, 4, 4, 4]);
    expect(told.join()).toContain("2 spans found no room");
  });

  it.each(["a", "ä", "漢", "😀", "\u0001", '"'])(
    "count the bytes of %j, and not its characters",
    async (char) => {
      const written = char.repeat(1_000_000 / char.length);
      const called = { id: "c1", method: "tools/call", source: "mcp", endpoint: "", server: "s" };
      const place = { traceId: "", spanId: "", parentId: undefined, isParentRemote: false };
      const args = { "gen_ai.tool.call.arguments": JSON.stringify(written) };
      const own = new CallSpan(
        { ...called, name: written } as never,
        { ...place, tracestate: undefined },
        { kind: SpanKind.SERVER, args },
      );
      expect(own.size).toBeGreaterThanOrEqual(Buffer.byteLength(own.write(LIMITS)));
      const sizes: number[] = [];
      const { queue } = setup(async (body) => void sizes.push(body.length), 1_000);
      const tracer = new BasicTracerProvider({ spanProcessors: [queue] }).getTracer("scope");
      for (let n = 0; n < 20; n++) tracer.startSpan(written).end();
      await queue.shutdown();
      expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(17_000_000);
    },
  );

  it("are written in slices: calls have their turn meanwhile", async () => {
    const { queue } = setup(async () => undefined);
    const slow = span({
      write: () => {
        const until = performance.now() + 2;
        while (performance.now() < until);
        return '{"name":"x"}';
      },
    });
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    for (let n = 0; n < 20; n++) queue.add(slow);
    setImmediate(count);
    await queue.forceFlush();
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(20);
  });
});

type Answer = (res: ServerResponse, count: number) => void;

describe("an export", () => {
  /** A sender, and the collector that it sends to. */
  async function setup(answer: Answer, settings: Partial<SenderSettings> = {}) {
    const requests: { readonly headers: IncomingMessage["headers"]; readonly body: Buffer }[] = [];
    const server = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on("data", (chunk: Buffer) => chunks.push(chunk));
      req.on("end", () => {
        requests.push({ headers: req.headers, body: Buffer.concat(chunks) });
        answer(res, requests.length);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
    const whole = {
      url,
      headers: { "x-tenant": "7" },
      timeout: 20_000 * PATIENCE,
      isCompressed: false,
    };
    const told: string[] = [];
    const sender = new OtlpSender({ ...whole, ...settings }, (reason) => void told.push(reason));
    onTestFinished(async () => {
      await sender.destroy();
      server.closeAllConnections();
      server.close();
    });
    return { sender, requests, url, told };
  }

  const ok: Answer = (res) => void res.end("{}");

  it("has the headers that are set, and is compressed where that is", async () => {
    const plain = await setup(ok);
    expect(await plain.sender.send(Buffer.from('{"é":1}'))).toBeUndefined();
    expect(plain.requests[0]!.body.toString()).toBe('{"é":1}');
    expect(plain.requests[0]!.headers).toMatchObject({
      "x-tenant": "7",
      "content-type": "application/json",
      "user-agent": expect.stringMatching(/^propylon\//) as string,
    });
    const small = await setup(ok, { isCompressed: true });
    expect(await small.sender.send(Buffer.from('{"é":1}'))).toBeUndefined();
    expect(small.requests[0]!.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(small.requests[0]!.body).toString()).toBe('{"é":1}');
  });

  it.each([429, 502, 503, 504])("is sent once more after %d", async (status) => {
    const { sender, requests } = await setup((res, count) => {
      res.writeHead(count === 1 ? status : 200, { "retry-after": "0" }).end();
    });
    expect(await sender.send(Buffer.from("{}"))).toBeUndefined();
    expect(requests).toHaveLength(2);
  });

  it.each([400, 404, 500, 302])("is lost after %d, and follows no redirect", async (status) => {
    const { sender, requests } = await setup((res) => {
      res.writeHead(status, { location: "/elsewhere" }).end("garbage");
    });
    expect(await sender.send(Buffer.from("{}"))).toBe(`the collector answers ${status}`);
    expect(requests).toHaveLength(1);
  });

  it.each(["315360000", "Fri, 31 Dec 2100 23:59:59 GMT"])(
    "is lost at once where it should wait longer than it may: %s",
    async (after) => {
      const { sender, requests } = await setup((res) => {
        res.writeHead(503, { "retry-after": after }).end();
      });
      expect(await sender.send(Buffer.from("{}"))).toBe("the collector answers 503");
      expect(requests).toHaveLength(1);
    },
  );

  it("is lost where the collector says nothing, in its time", async () => {
    const { sender } = await setup(() => {}, { timeout: 50 });
    expect(await sender.send(Buffer.from("{}"))).toBe("it took too long");
  });

  it("is lost where nobody listens", async () => {
    const { sender } = await setup(ok, { url: "http://127.0.0.1:9/v1/traces", timeout: 50 });
    expect(await sender.send(Buffer.from("{}"))).toMatch(/refused|too long/);
  });

  it("is done where the answer never ends: what is read of it is bounded", async () => {
    let written = 0;
    const { sender } = await setup((res) => {
      const chunk = Buffer.alloc(65_536, " ");
      const write = (): void => {
        while (!res.destroyed && written < 2 ** 30 && res.write(chunk)) written += chunk.length;
        if (!res.destroyed) res.once("drain", write);
      };
      write();
    });
    expect(await sender.send(Buffer.from("{}"))).toBeUndefined();
    expect(written).toBeLessThan(64 * 1_024 * 1_024);
  });

  it.each([
    '{"partialSuccess":{"rejectedSpans":"3"}}',
    '{"partialSuccess":{"errorMessage":"authorization: secret","rejectedSpans":"secret"}}',
    '{"partialSuccess":{',
    "[[[[[[[[[[[[[",
  ])("is done whatever the answer says: %s", async (said) => {
    const { sender, told } = await setup((res) => void res.end(said));
    expect(await sender.send(Buffer.from("{}"))).toBeUndefined();
    expect(told).toHaveLength(said.includes('"3"') ? 1 : 0);
  });

  it("that is lost is told to the gateway it is of", async () => {
    const collector = await startCollector();
    collector.status = 400;
    const acquire = async (name: string) => {
      const told: string[] = [];
      const log = { warn: ({ reason }: { reason: string }) => void told.push(reason) };
      const settings = readSettings(optionsSchema.parse({ endpoint: collector.url }), name)!;
      const { pipeline, release } = await new Exports().acquire(settings, log as never);
      pipeline.tracers!.getTracer(name).startSpan("lost").end();
      const series = pipeline.histograms!.of({ name, description: "", bounds: [1] });
      series.find("", () => ({})).record(1);
      return { told, release };
    };
    const both = [await acquire("one"), await acquire("two")];
    await Promise.all(both.map(({ release }) => release()));
    for (const { told } of both)
      expect(told.toSorted()).toEqual([
        "1 spans are lost: the collector answers 400",
        expect.stringContaining("Metrics are lost: "),
      ]);
  });

  it("ends with the gateway", async () => {
    const { sender } = await setup(() => void sender.destroy());
    expect(await sender.send(Buffer.from("{}"))).toBe("the gateway ends");
    // Nor is what waited behind it tried.
    expect(await sender.send(Buffer.from("{}"))).toBe("the gateway ends");
  });
});
