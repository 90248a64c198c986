import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A span as it was exported. */
export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** `""` for a root. */
  readonly parentSpanId: string;
  /** 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  /** 2 = error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** One time series of a histogram, as last exported. */
export interface CollectedHistogram {
  readonly name: string;
  readonly count: number;
  readonly bounds: readonly number[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A collector that takes OTLP/HTTP JSON and keeps everything in memory. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  readonly histograms: ReadonlyMap<string, CollectedHistogram>;
  /** Bodies as they arrived. */
  readonly bodies: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** Status of the answers from now on. */
  status: number;
  /** Resolves when the condition holds; looked at after every export. */
  until(condition: () => boolean): Promise<void>;
}

interface Exported {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly RawMetric[] }[];
  }[];
}

interface RawSpan extends Omit<CollectedSpan, "attributes" | "status" | "service"> {
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}

interface RawMetric {
  readonly name: string;
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly count: number;
      readonly explicitBounds: readonly number[];
      readonly attributes: readonly Attribute[];
    }[];
  };
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Starts a collector on a free port; it leaves with the test. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const histograms = new Map<string, CollectedHistogram>();
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      headers.push(req.headers);
      bodies.push(body);
      if (collector.status === 200) take(JSON.parse(body) as Exported, spans, histograms);
      res.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const until = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (condition() && waiting.delete(look)) resolve();
      };
      waiting.add(look);
      look();
    });
  const url = `http://127.0.0.1:${port}`;
  const collector: Collector = { url, spans, histograms, bodies, headers, status: 200, until };
  return collector;
}

function take(
  { resourceSpans = [], resourceMetrics = [] }: Exported,
  spans: CollectedSpan[],
  histograms: Map<string, CollectedHistogram>,
): void {
  for (const { resource, scopeSpans } of resourceSpans) {
    const service = String(flatten(resource.attributes)["service.name"]);
    for (const span of scopeSpans.flatMap((scope) => scope.spans))
      spans.push({
        ...span,
        service,
        parentSpanId: span.parentSpanId ?? "",
        status: span.status.code,
        attributes: flatten(span.attributes),
      });
  }
  for (const { name, histogram } of resourceMetrics
    .flatMap(({ scopeMetrics }) => scopeMetrics)
    .flatMap(({ metrics }) => metrics))
    for (const { count, explicitBounds, attributes } of histogram?.dataPoints ?? []) {
      const labels = flatten(attributes);
      const series = { name, count, bounds: explicitBounds, attributes: labels };
      histograms.set(`${name} ${JSON.stringify(labels)}`, series);
    }
}

function flatten(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, Object.values(value)[0]] as const),
  );
}

/** Spans of a trace that name a parent which is not in it; the parents in `known` are elsewhere. */
export function orphans(
  spans: readonly CollectedSpan[],
  known: ReadonlySet<string> = new Set(),
): readonly CollectedSpan[] {
  const ids = new Set(spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`));
  return spans.filter(
    ({ traceId, parentSpanId }) =>
      parentSpanId !== "" && !known.has(parentSpanId) && !ids.has(`${traceId} ${parentSpanId}`),
  );
}
