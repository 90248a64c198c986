import type { Agent } from "node:http";
import type { ContextManager, MeterProvider, TracerProvider } from "@opentelemetry/api";
import { within } from "propylon/kit";
import { Histograms } from "./histogram.ts";
import type { MetricReader, PushMetricExporter } from "@opentelemetry/sdk-metrics";
import type { ExportSettings } from "./options.ts";
import type { TelemetrySdk } from "./sdk.ts";

/** How long the last export may take, in milliseconds: a collector that is away must not hold up a shutdown. */
const FLUSH_MS = 3_000;

/** Something of the SDK that hands on what it has, and ends. */
interface Closable {
  shutdown(): Promise<void>;
}

/** One set of providers with their exporters: what is recorded there goes to one collector. */
export class Pipeline {
  readonly tracers: (TracerProvider & Closable) | undefined;
  readonly meters: (MeterProvider & Closable) | undefined;
  /** Goes with {@link meters}. */
  readonly histograms: Histograms | undefined;
  /** A new one: it cannot be used again once it was disabled. */
  readonly createContexts: () => ContextManager;
  readonly #agents = new Set<Agent>();

  constructor(sdk: TelemetrySdk, settings: ExportSettings) {
    const resource = describe(sdk, settings);
    this.createContexts = () => new sdk.contexts.AsyncLocalStorageContextManager();
    if (settings.traces) this.tracers = this.#createTracers(sdk, settings, resource);
    if (!settings.metrics) return;
    const exporter = new sdk.metricExport.OTLPMetricExporter(this.#target(settings, "metrics"));
    const { HISTOGRAM } = sdk.metrics.InstrumentType;
    this.histograms = new Histograms(sdk, exporter.selectAggregationTemporality(HISTOGRAM));
    const reader = createReader(sdk, settings, exporter, this.histograms);
    this.meters = new sdk.metrics.MeterProvider({ resource, readers: [reader] });
  }

  /** Exports what is left, for a bounded time, and ends. Never rejects. */
  async close(): Promise<void> {
    await within(Promise.allSettled([this.tracers?.shutdown(), this.meters?.shutdown()]), FLUSH_MS);
    for (const agent of this.#agents) agent.destroy();
  }

  #createTracers(
    sdk: TelemetrySdk,
    settings: ExportSettings,
    resource: Resource,
  ): Pipeline["tracers"] {
    const { BasicTracerProvider, BatchSpanProcessor } = sdk.traces;
    const { ParentBasedSampler, TraceIdRatioBasedSampler } = sdk.traces;
    const exporter = new sdk.traceExport.OTLPTraceExporter(this.#target(settings, "traces"));
    const { sampling } = settings;
    return new BasicTracerProvider({
      resource,
      spanProcessors: [new BatchSpanProcessor(exporter)],
      ...(sampling !== undefined && {
        sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampling) }),
      }),
    });
  }

  /** Where an exporter sends to. Its sockets are ours, or they would outlive it. */
  #target({ endpoint, headers }: ExportSettings, signal: "traces" | "metrics") {
    return {
      headers: { ...headers },
      ...(endpoint !== undefined && { url: `${endpoint}/v1/${signal}` }),
      httpAgentOptions: async (protocol: string) => {
        const { Agent } = await (protocol === "http:" ? import("node:http") : import("node:https"));
        const agent = new Agent({ keepAlive: true });
        this.#agents.add(agent);
        return agent;
      },
    };
  }
}

function createReader(
  { metrics }: TelemetrySdk,
  { interval }: ExportSettings,
  exporter: PushMetricExporter,
  histograms: Histograms,
): MetricReader {
  return new metrics.PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: interval,
    exportTimeoutMillis: Math.min(interval, 30_000),
    metricProducers: [histograms],
  });
}

type Resource = ReturnType<TelemetrySdk["resources"]["defaultResource"]>;

/** Who exports: the options, else OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME, else the gateway's name. */
function describe(
  { resources }: TelemetrySdk,
  { serviceName, fallbackName }: ExportSettings,
): Resource {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = resources;
  const named = (name: string): Resource => resourceFromAttributes({ "service.name": name });
  const resource = defaultResource()
    .merge(named(fallbackName))
    .merge(detectResources({ detectors: [envDetector, resources.serviceInstanceIdDetector] }));
  return serviceName === undefined ? resource : resource.merge(named(serviceName));
}
