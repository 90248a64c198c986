import type {
  MetricData,
  MetricReader,
  PushMetricExporter,
  ResourceMetrics,
  ScopeMetrics,
} from "@opentelemetry/sdk-metrics";
import { setTicker, within } from "propylon/kit";
import type { Histograms } from "./histogram.ts";
import { type Tell, withoutSpans } from "./registration.ts";
import type { TelemetrySdk } from "./sdk.ts";

/** Most series of one request: the exporter encodes a request at once, and calls have their turn between two. */
const MAX_SERIES_SENT = 250;

/** What a reader needs. */
interface ReaderInput {
  readonly exporter: PushMetricExporter;
  readonly histograms: Histograms;
  /** Milliseconds. */
  readonly interval: number;
  readonly tell: Tell;
}

/**
 * Exports metrics in intervals, one export at a time. Not the reader of the SDK, which asks for the context of the moment each time, and
 * so would make all calls carry one.
 */
export function createReader(
  { metrics }: TelemetrySdk,
  { exporter, histograms, interval, tell }: ReaderInput,
): MetricReader {
  class IntervalReader extends metrics.MetricReader {
    readonly #ticker = setTicker(() => this.#tick(), interval).unref();
    #exporting: Promise<void> | undefined;

    protected override async onForceFlush(): Promise<void> {
      await this.#exporting;
      await (this.#exporting ??= this.#export().finally(() => (this.#exporting = undefined)));
    }

    protected override async onShutdown(): Promise<void> {
      clearInterval(this.#ticker);
      await this.onForceFlush();
      await exporter.shutdown();
    }

    #tick(): void {
      if (!this.#exporting) void this.onForceFlush();
    }

    async #export(): Promise<void> {
      const timeoutMillis = Math.min(interval, 30_000);
      const deadline = performance.now() + timeoutMillis;
      try {
        const { resourceMetrics, errors } = await this.collect({ timeoutMillis });
        if (errors.length > 0) tell("Metrics were not collected.");
        for (const part of partsOf(resourceMetrics)) {
          const sent = send(exporter, part);
          if (!(await within(sent, deadline - performance.now())))
            throw new Error("the export took too long");
          await sent;
        }
      } catch (error) {
        tell(`Metrics are lost: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  const aggregation = exporter.selectAggregation?.bind(exporter);
  const temporality = exporter.selectAggregationTemporality?.bind(exporter);
  return new IntervalReader({
    ...(aggregation && { aggregationSelector: aggregation }),
    ...(temporality && { aggregationTemporalitySelector: temporality }),
    metricProducers: [histograms],
  });
}

/** @throws {Error} what the exporter tells */
function send(exporter: PushMetricExporter, part: ResourceMetrics): Promise<void> {
  return new Promise((resolve, reject) => {
    withoutSpans(() => exporter.export(part, ({ error }) => (error ? reject(error) : resolve())));
  });
}

/** Metrics in as many requests as they need. */
function* partsOf({ resource, scopeMetrics }: ResourceMetrics): Iterable<ResourceMetrics> {
  let part: ScopeMetrics[] = [];
  let room = MAX_SERIES_SENT;
  for (const { scope, metric } of metricsOf(scopeMetrics))
    for (let from = 0; from < metric.dataPoints.length;) {
      const dataPoints = metric.dataPoints.slice(from, from + room);
      const piece = { ...metric, dataPoints } as MetricData;
      const last = part.at(-1);
      if (last?.scope === scope) last.metrics.push(piece);
      else part.push({ scope, metrics: [piece] });
      from += dataPoints.length;
      room -= dataPoints.length;
      if (room > 0) continue;
      yield { resource, scopeMetrics: part };
      part = [];
      room = MAX_SERIES_SENT;
    }
  if (part.length > 0) yield { resource, scopeMetrics: part };
}

function metricsOf(all: readonly ScopeMetrics[]) {
  return all.flatMap(({ scope, metrics }) => metrics.map((metric) => ({ scope, metric })));
}
