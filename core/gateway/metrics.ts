import type { Metric, Registry } from "prom-client";
import { GatewayError } from "../kit/errors.ts";

/** A scope's metrics, with the name that says who registered them. */
export interface MetricSource {
  readonly name: string;
  /** Absent: there are none. */
  readonly registry: Registry | undefined;
}

/**
 * Content type of {@link renderMetrics}.
 *
 * @example new Response(await management.metrics(), { headers: { "content-type": METRICS_CONTENT_TYPE } });
 */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** An empty registry. The library is loaded with the first plugin that a config asks for: a gateway without any has no metrics. */
export async function createRegistry(): Promise<Registry> {
  const { Registry } = await import("prom-client");
  return new Registry();
}

/**
 * Refuses two plugins with a metric of one name, because a scraper refuses the whole page then.
 *
 * @throws {GatewayError} `exists`, naming both plugins
 */
export function checkMetrics(sources: readonly MetricSource[]): void {
  const owners = new Map<string, string>();
  for (const { name, registry } of sources) {
    for (const metric of registry?.getMetricsAsArray() ?? []) {
      const owner = owners.get(metric.name);
      if (owner !== undefined)
        throw new GatewayError(
          "exists",
          `Plugins "${owner}" and "${name}" both register the metric "${metric.name}".`,
        );
      owners.set(metric.name, name);
    }
  }
}

/** All metrics as one Prometheus text page. Of two metrics registered later under one name, the first plugin's is shown. */
export async function renderMetrics(sources: readonly MetricSource[]): Promise<string> {
  return (await pageOf(sources)).metrics();
}

type MetricValues = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];
/** The metrics of one process as values. */
export type ProcessMetrics = readonly MetricValues[];

/** All metrics as values, for another process. */
export async function collectMetrics(sources: readonly MetricSource[]): Promise<ProcessMetrics> {
  return (await pageOf(sources)).getMetricsAsJSON();
}

/** The metrics of several processes as one page: added up, unless the `aggregator` of a metric says otherwise. */
export async function renderTogether(processes: readonly ProcessMetrics[]): Promise<string> {
  return (await aggregate(processes)).metrics();
}

/** What several processes counted, without what only holds for a moment. */
export async function countsTogether(
  processes: readonly ProcessMetrics[],
): Promise<ProcessMetrics> {
  const all = await (await aggregate(processes)).getMetricsAsJSON();
  return all.filter(({ type }) => COUNTING.has(String(type)));
}

const COUNTING: ReadonlySet<string> = new Set(["counter", "histogram"]);

async function aggregate(processes: readonly ProcessMetrics[]): Promise<Registry> {
  const { AggregatorRegistry } = await import("prom-client");
  return AggregatorRegistry.aggregate(processes as object[]);
}

async function pageOf(sources: readonly MetricSource[]): Promise<Registry> {
  const page = await createRegistry();
  const seen = new Set<string>();
  for (const { registry } of sources) {
    for (const metric of registry?.getMetricsAsArray() ?? []) {
      if (seen.has(metric.name)) continue;
      seen.add(metric.name);
      page.registerMetric(metric as unknown as Metric);
    }
  }
  return page;
}
