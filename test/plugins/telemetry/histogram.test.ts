import * as metrics from "@opentelemetry/sdk-metrics";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Histograms } from "../../../plugins/telemetry/histogram.ts";
import { loadTelemetrySdk } from "../../../plugins/telemetry/sdk.ts";

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
