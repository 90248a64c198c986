import { diag } from "@opentelemetry/api";
import type { MetricReader, PushMetricExporter } from "@opentelemetry/sdk-metrics";
import { setTicker, within } from "propylon/kit";
import type { Histograms } from "./histogram.ts";
import { withoutSpans } from "./registration.ts";
import type { TelemetrySdk } from "./sdk.ts";

/** What a reader needs. */
interface ReaderInput {
  readonly exporter: PushMetricExporter;
  readonly histograms: Histograms;
  /** Milliseconds. */
  readonly interval: number;
}

/**
 * Exports metrics in intervals, one export at a time. Not the reader of the SDK, which asks for the context of the moment each time, and
 * so would make all calls carry one.
 */
export function createReader(
  { metrics }: TelemetrySdk,
  { exporter, histograms, interval }: ReaderInput,
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
      try {
        const { resourceMetrics, errors } = await this.collect({ timeoutMillis });
        if (errors.length > 0) diag.error("Metrics were not collected.", ...errors);
        if (resourceMetrics.scopeMetrics.length === 0) return;
        const sent = new Promise<void>((resolve) => {
          withoutSpans(() =>
            exporter.export(resourceMetrics, ({ error }) => {
              if (error) diag.error(`Metrics are lost: ${error.message}`);
              resolve();
            }),
          );
        });
        if (!(await within(sent, timeoutMillis))) diag.error("Metrics took too long to export.");
      } catch (error) {
        diag.error(`Metrics are lost: ${String(error)}`);
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
