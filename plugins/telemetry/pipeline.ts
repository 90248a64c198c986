import type { Agent } from "node:http";
import type { ContextManager, MeterProvider, TracerProvider } from "@opentelemetry/api";
import { within } from "propylon/kit";
import { Histograms } from "./histogram.ts";
import { createReader } from "./metric-reader.ts";
import type { ExportSettings, TraceSettings } from "./options.ts";
import { type Tell, withoutSpans } from "./registration.ts";
import type { RelayedTraces } from "./relayed-calls.ts";
import type { TelemetrySdk } from "./sdk.ts";
import { OtlpSender } from "./spans/otlp-sender.ts";
import { resourceText } from "./spans/otlp-text.ts";
import { TraceSampler } from "./spans/sampler.ts";
import { SpanQueue } from "./spans/span-queue.ts";

/** How long the last export may take, in milliseconds: a collector that is away must not hold up a shutdown. */
const FLUSH_MS = 3_000;

/** Something of the SDK that hands on what it has, and ends. */
interface Closable {
  shutdown(): Promise<void>;
}

/** One set of providers with their exporters: what is recorded there goes to one collector. */
export class Pipeline {
  /** Both or neither: spans of work in this process, and those of relayed calls. */
  tracers: (TracerProvider & Closable) | undefined;
  relayed: RelayedTraces | undefined;
  readonly meters: (MeterProvider & Closable) | undefined;
  /** Goes with {@link meters}. */
  readonly histograms: Histograms | undefined;
  /** A new one: it cannot be used again once it was disabled. */
  readonly createContexts: () => ContextManager;
  readonly #agents = new Set<Agent>();
  #sender: OtlpSender | undefined;

  /** @param tell hears what is lost */
  constructor(sdk: TelemetrySdk, settings: ExportSettings, tell: Tell) {
    const resource = describe(sdk, settings);
    this.createContexts = () => new sdk.contexts.AsyncLocalStorageContextManager();
    if (settings.traces) this.#createTracers(sdk, settings.traces, resource, tell);
    if (!settings.metrics) return;
    const exporter = new sdk.metricExport.OTLPMetricExporter(this.#target(settings));
    const { HISTOGRAM } = sdk.metrics.InstrumentType;
    this.histograms = new Histograms(sdk, exporter.selectAggregationTemporality(HISTOGRAM));
    const { histograms } = this;
    const reader = createReader(sdk, { exporter, histograms, interval: settings.interval, tell });
    this.meters = new sdk.metrics.MeterProvider({ resource, readers: [reader] });
  }

  /** Exports what is left, for a bounded time, and ends. Never rejects. */
  async close(): Promise<void> {
    await within(Promise.allSettled([this.tracers?.shutdown(), this.meters?.shutdown()]), FLUSH_MS);
    await this.#sender?.destroy();
    for (const agent of this.#agents) agent.destroy();
  }

  #createTracers(
    { traces }: TelemetrySdk,
    { sampler: kept, limits, queue, sender: target }: TraceSettings,
    resource: Resource,
    tell: Tell,
  ): void {
    const sender = (this.#sender = new OtlpSender(target, tell));
    const sampler = new TraceSampler(kept);
    const spans = new SpanQueue({
      settings: queue,
      limits,
      resource: resourceText(resource),
      send: (body) => withoutSpans(() => sender.send(body)),
      tell,
    });
    this.relayed = { sampler, queue: spans };
    this.tracers = new traces.BasicTracerProvider({ resource, sampler, spanProcessors: [spans] });
  }

  /** Where metrics go to. The sockets are ours, or they would outlive the exporter. */
  #target({ endpoint, headers }: ExportSettings) {
    return {
      headers: { ...headers },
      ...(endpoint !== undefined && { url: `${endpoint}/v1/metrics` }),
      httpAgentOptions: async (protocol: string) => {
        const { Agent } = await (protocol === "http:" ? import("node:http") : import("node:https"));
        const agent = new Agent({ keepAlive: true });
        this.#agents.add(agent);
        return agent;
      },
    };
  }
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
