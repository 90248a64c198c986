import { context, trace } from "@opentelemetry/api";
import * as metrics from "@opentelemetry/sdk-metrics";
import fc from "fast-check";
import { definePlugin, type PluginDefinition } from "propylon";
import { describe, expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import {
  readLimits,
  readQueue,
  readSampler,
  readSender,
} from "../../../plugins/telemetry/environment.ts";
import { Histograms } from "../../../plugins/telemetry/histogram.ts";
import telemetry, { withSpan } from "../../../plugins/telemetry/index.ts";
import { createReader } from "../../../plugins/telemetry/metric-reader.ts";
import { quietContexts } from "../../../plugins/telemetry/registration.ts";
import { loadTelemetrySdk } from "../../../plugins/telemetry/sdk.ts";
import { startCollector } from "./collector.ts";
import { serveUpstream } from "./upstream.ts";

const { CUMULATIVE, DELTA } = metrics.AggregationTemporality;
/** Sums of such fractions are the same in any order. */
const BOUNDS = [1 / 128, 1 / 8, 1];
const INPUT = { name: "durations", description: "Durations.", bounds: BOUNDS };

class Reader extends metrics.MetricReader {
  constructor(temporality: metrics.AggregationTemporality, producer?: metrics.MetricProducer) {
    super({
      aggregationTemporalitySelector: () => temporality,
      ...(producer && { metricProducers: [producer] }),
    });
  }

  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** What a reader collects, without the times. */
async function collect(reader: Reader) {
  const { resourceMetrics } = await reader.collect();
  return resourceMetrics.scopeMetrics
    .flatMap((scope) => scope.metrics)
    .map(({ descriptor, aggregationTemporality, dataPointType, dataPoints }) => ({
      name: descriptor.name,
      unit: descriptor.unit,
      aggregationTemporality,
      dataPointType,
      points: new Map(
        dataPoints.map(({ attributes, value }) => [JSON.stringify(attributes), value]),
      ),
    }));
}

/** The histogram of the SDK as the model, and ours. */
async function createBoth(temporality: metrics.AggregationTemporality) {
  const model = new Reader(temporality);
  const histogram = new metrics.MeterProvider({ readers: [model] })
    .getMeter("model")
    .createHistogram(INPUT.name, {
      unit: "s",
      description: INPUT.description,
      advice: { explicitBucketBoundaries: BOUNDS },
    });
  const histograms = new Histograms(await loadTelemetrySdk(), temporality);
  const own = new Reader(temporality, histograms);
  new metrics.MeterProvider({ readers: [own] }).getMeter("own");
  return { model, histogram, own, histograms };
}

describe("histograms of the gateway", () => {
  it.each([
    ["cumulative", CUMULATIVE],
    ["delta", DELTA],
  ])("count as those of the SDK do, %s", async (_name, temporality) => {
    const value = fc.record({
      tool: fc.constantFrom("a", "b", "c"),
      seconds: fc.constantFrom(0, 1 / 128, 1 / 64, 1 / 8, 1 / 2, 1, 7),
    });
    const between = fc.array(value, { maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(fc.array(between, { minLength: 1, maxLength: 4 }), async (collections) => {
        const { model, histogram, own, histograms } = await createBoth(temporality);
        for (const values of collections) {
          for (const { tool, seconds } of values) {
            histogram.record(seconds, { tool });
            histograms
              .of(INPUT)
              .find(tool, () => ({ tool }))
              .record(seconds);
          }
          expect(await collect(own)).toEqual(await collect(model));
        }
      }),
      { numRuns: 100 },
    );
  });

  it("count what is beyond 2,000 series together", async () => {
    const { model, histogram, own, histograms } = await createBoth(CUMULATIVE);
    for (let tool = 0; tool < 2_100; tool++) {
      histogram.record(0.02, { tool });
      histograms
        .of(INPUT)
        .find(String(tool), () => ({ tool }))
        .record(0.02);
    }
    const collected = await collect(own);
    expect(collected).toEqual(await collect(model));
    expect([...collected[0]!.points.keys()]).toContain('{"otel.metric.overflow":true}');
  });

  it("begin anew with each collection of deltas, and say since when", async () => {
    const histograms = new Histograms(await loadTelemetrySdk(), DELTA);
    const series = histograms.of(INPUT).find("a", () => ({ tool: "a" }));
    const times = async () => {
      series.record(1);
      const { resourceMetrics } = await histograms.collect();
      return resourceMetrics.scopeMetrics[0]!.metrics[0]!.dataPoints[0]!;
    };
    const first = await times();
    const second = await times();
    expect(second.startTime).toEqual(first.endTime);
  });
});

const NOTHING = { endpoint: undefined, headers: {} };

describe("an export of metrics", () => {
  async function setup(failsAt = Infinity) {
    const sdk = await loadTelemetrySdk();
    const histograms = new Histograms(sdk, CUMULATIVE);
    const parts: metrics.ResourceMetrics[] = [];
    const exporter: metrics.PushMetricExporter = {
      export: (part, done) => {
        parts.push(part);
        const error = parts.length === failsAt ? new Error("no room") : undefined;
        setImmediate(() => done({ code: error ? 1 : 0, ...(error && { error }) }));
      },
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    const reader = createReader(sdk, { exporter, histograms, interval: 3_600_000, tell: () => {} });
    const provider = new metrics.MeterProvider({ readers: [reader] });
    onTestFinished(() => provider.shutdown());
    const count = (name: string, series: number): void => {
      const all = histograms.of({ ...INPUT, name });
      for (let at = 0; at < series; at++) all.find(`${at}`, () => ({ at })).record(1);
    };
    const points = () =>
      parts.map(({ scopeMetrics }) =>
        scopeMetrics.map((each) => each.metrics.map(({ dataPoints }) => dataPoints.length)),
      );
    return { reader, parts, count, points };
  }

  it("holds up calls for no longer than 250 series take, however many there are", async () => {
    const { reader, parts, count, points } = await setup();
    count("one", 600);
    count("two", 10);
    count("three", 20);
    await reader.forceFlush();
    expect(points()).toEqual([[[250]], [[250]], [[100, 10, 20]]]);
    const names = parts
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((each) => each.metrics))
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes["at"]));
    expect(names.slice(0, 600)).toEqual(Array.from({ length: 600 }, (_, at) => at));
  });

  it("ends with the first request that fails", async () => {
    const { reader, parts, count } = await setup(2);
    count("one", 2_000);
    await reader.forceFlush();
    expect(parts.length).toBe(2);
  });
});

describe("variables of OpenTelemetry", () => {
  it.each([
    [{}, { ratio: 1, followsCaller: true }],
    [{ OTEL_TRACES_SAMPLER: "always_on" }, { ratio: 1, followsCaller: false }],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, { ratio: 0, followsCaller: false }],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, { ratio: 0, followsCaller: true }],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { ratio: 0.25, followsCaller: false },
    ],
    [
      { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { ratio: 0.25, followsCaller: true },
    ],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "7" },
      { ratio: 1, followsCaller: false },
    ],
    [{ OTEL_TRACES_SAMPLER: "constructor" }, { ratio: 1, followsCaller: true }],
  ])("%j sample %j", (environment, sampler) => {
    expect(readSampler(environment)).toEqual(sampler);
  });

  it("limit attributes, those of spans before those of everything", () => {
    expect(readLimits({})).toEqual({ count: 128, length: Infinity });
    const general = { OTEL_ATTRIBUTE_COUNT_LIMIT: "9", OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: "90" };
    expect(readLimits(general)).toEqual({ count: 9, length: 90 });
    expect(readLimits({ ...general, OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: "3" }).count).toBe(3);
  });

  it("say how spans wait; what is no number above zero says nothing", () => {
    expect(readQueue({})).toEqual({ delay: 5_000, maxQueue: 2_048, maxBatch: 512 });
    expect(readQueue({ OTEL_BSP_MAX_QUEUE_SIZE: "10", OTEL_BSP_SCHEDULE_DELAY: "-1" })).toEqual({
      delay: 5_000,
      maxQueue: 10,
      maxBatch: 10,
    });
    expect(readQueue({ OTEL_BSP_MAX_QUEUE_SIZE: "many" }).maxQueue).toBe(2_048);
    // A batch of no span would be sent for ever; a wait of nothing is one.
    const odd = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "0.5", OTEL_BSP_SCHEDULE_DELAY: "0" };
    expect(readQueue(odd)).toEqual({ delay: 0, maxQueue: 2_048, maxBatch: 512 });
  });

  it("say where traces go to, and the options before them", () => {
    const urls = (environment: NodeJS.ProcessEnv, endpoint?: string) =>
      readSender({ endpoint, headers: {} }, environment).url;
    expect(urls({})).toBe("http://localhost:4318/v1/traces");
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a:1/base/" };
    expect(urls(base)).toBe("http://a:1/base/v1/traces");
    expect(urls({ ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://b:2/x" })).toBe(
      "http://b:2/x",
    );
    expect(urls(base, "http://c:3")).toBe("http://c:3/v1/traces");
    expect(urls({ OTEL_EXPORTER_OTLP_ENDPOINT: "nowhere" })).toBe(
      "http://localhost:4318/v1/traces",
    );
  });

  it("add headers: those of traces over the general ones, the options over both", () => {
    const environment = {
      OTEL_EXPORTER_OTLP_HEADERS: "X-One=1, two=a%20b;meta ,=broken,empty=,bad=%zz",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-one=2,three=3",
    };
    const { headers } = readSender({ endpoint: undefined, headers: { Three: "4" } }, environment);
    expect(headers).toEqual({ "x-one": "2", two: "a b", three: "4" });
    const { headers: login } = readSender({ ...NOTHING, endpoint: "http://u:p%40@c" }, {});
    expect(login).toEqual({ authorization: `Basic ${btoa("u:p@")}` });
    const { headers: odd } = readSender({ ...NOTHING, endpoint: "http://u:100%25%@c" }, {});
    expect(odd).toEqual({ authorization: `Basic ${btoa("u:100%25%")}` });
    const mixed = { OTEL_EXPORTER_OTLP_HEADERS: "Authorization=theirs" };
    const option = { endpoint: undefined, headers: { authorization: "ours" } };
    expect(readSender(option, mixed).headers).toEqual({ authorization: "ours" });
  });

  it("set the longest export, and compression", () => {
    const of = (environment: NodeJS.ProcessEnv) => {
      const { timeout, isCompressed } = readSender(NOTHING, environment);
      return [timeout, isCompressed];
    };
    expect(of({})).toEqual([10_000, false]);
    expect(
      of({ OTEL_EXPORTER_OTLP_TIMEOUT: "70", OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "80" }),
    ).toEqual([80, false]);
    expect(of({ OTEL_EXPORTER_OTLP_TIMEOUT: "-5", OTEL_BSP_EXPORT_TIMEOUT: "900" })).toEqual([
      900,
      false,
    ]);
    expect(of({ OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" })).toEqual([10_000, true]);
    const none = { OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "none" };
    expect(of({ OTEL_EXPORTER_OTLP_COMPRESSION: "gzip", ...none })).toEqual([10_000, false]);
  });
});

/** A gateway with one server, between which and the client a plugin stands. */
async function start(plugins: readonly PluginDefinition[]) {
  const upstream = await serveUpstream();
  const collector = await startCollector();
  const options = { endpoint: collector.url, interval: "100ms" };
  const started = await setupGateway({
    plugins: [...plugins, [telemetry, options]],
    config: { servers: { up: { url: upstream.url } } },
  });
  const call = () => started.client.callTool({ name: "t", arguments: {} });
  return { ...started, upstream, collector, call };
}

it("no context is carried through relayed calls where nobody asks for one, and no export asks", async () => {
  const { collector, call } = await start([]);
  await call();
  const exported = collector.bodies.length;
  await collector.until(() => collector.bodies.length >= exported + 2);
  expect(quietContexts()?.isAsked).toBe(false);
  await call();
  expect(quietContexts()).toBeDefined();
});

it("a stage that asks finds the call it works on: at once in its turn, and from then on behind every wait", async () => {
  const seen: (string | undefined)[] = [];
  const look = (): void => void seen.push(trace.getSpanContext(context.active())?.traceId);
  const asking = definePlugin({
    name: "asking",
    setup(gateway) {
      gateway.use("gate", async (call, next) => {
        look();
        const answer = await next(call);
        look();
        trace.getActiveSpan()?.setAttribute("asked", seen.length);
        return answer;
      });
    },
  });
  const { collector, call, gateway } = await start([asking]);
  await call();
  await call();
  await gateway.close();
  const served = collector.spans.filter(({ kind }) => kind === 2);
  const [first, second] = served.map(({ traceId }) => traceId);
  expect([seen[0], ...seen.slice(2)]).toEqual([first, second, second]);
  expect(served[1]!.attributes["asked"]).toBe(4);
  expect(quietContexts()).toBeUndefined();
});

it("a span of a stage is below that of the call, and the hop below the span of the stage", async () => {
  const working = definePlugin({
    name: "working",
    setup(gateway) {
      gateway.use("gate", (call, next) =>
        withSpan("work", {}, ({ meta }) => next({ ...call, meta: { ...call.meta, ...meta } })),
      );
    },
  });
  const { collector, call, gateway, upstream } = await start([working]);
  await call();
  await gateway.close();
  const [served, work, hop] = ["2", "1", "3"].map((kind) =>
    collector.spans.find((span) => String(span.kind) === kind)!,
  );
  expect([work!.parentSpanId, hop!.parentSpanId]).toEqual([served!.spanId, work!.spanId]);
  const { traceId, spanId } = hop!;
  expect(upstream.calls.at(-1)!.headers["traceparent"]).toBe(`00-${traceId}-${spanId}-01`);
});
