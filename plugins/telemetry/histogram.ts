import { ValueType, type Attributes, type HrTime } from "@opentelemetry/api";
import type {
  AggregationTemporality,
  CollectionResult,
  HistogramMetricData,
  MetricProducer,
} from "@opentelemetry/sdk-metrics";
import { SCOPE } from "./span.ts";
import type { TelemetrySdk } from "./sdk.ts";

/** Series of one histogram; those beyond count together, as the SDK's limit of cardinality says. */
export const MAX_SERIES = 2_000;
const OVERFLOW: Attributes = { "otel.metric.overflow": true };

/** Where durations of one kind are counted. */
export interface Series {
  record(seconds: number): void;
}

/** What a histogram is. */
export interface HistogramInput {
  readonly name: string;
  readonly description: string;
  /** Upper bounds of the buckets, in seconds; ascending. */
  readonly bounds: readonly number[];
}

/**
 * Finds the series of a duration by a short key, so that attributes are described once for each and not for each call: the SDK sorts
 * them and writes them as JSON for every value.
 */
export class KeyedSeries {
  readonly #create: (attributes: Attributes) => Series;
  readonly #series = new Map<string, Series>();

  constructor(create: (attributes: Attributes) => Series) {
    this.#create = create;
  }

  /** @param describe attributes of a series that is new */
  find(key: string, describe: () => Attributes): Series {
    return this.#series.get(key) ?? this.#add(key, describe);
  }

  #add(key: string, describe: () => Attributes): Series {
    // The names of tools are a server's to choose, and a client may ask for any.
    if (this.#series.size >= MAX_SERIES - 1) return this.#overflow();
    const series = this.#create(describe());
    this.#series.set(key, series);
    return series;
  }

  #overflow(): Series {
    let series = this.#series.get("");
    if (!series) this.#series.set("", (series = this.#create(OVERFLOW)));
    return series;
  }
}

/**
 * Histograms of the gateway's own, handed to the reader of the SDK when it collects.
 * https://opentelemetry.io/docs/specs/otel/metrics/sdk/#metricproducer
 */
export class Histograms implements MetricProducer {
  readonly #sdk: TelemetrySdk;
  readonly #temporality: AggregationTemporality;
  readonly #all = new Map<string, Histogram>();

  constructor(sdk: TelemetrySdk, temporality: AggregationTemporality) {
    this.#sdk = sdk;
    this.#temporality = temporality;
  }

  /** The series of a histogram, the same ones for each who asks: a reload goes on counting. */
  of(input: HistogramInput): KeyedSeries {
    let histogram = this.#all.get(input.name);
    if (!histogram) this.#all.set(input.name, (histogram = new Histogram(input)));
    return histogram.series;
  }

  async collect(): Promise<CollectionResult> {
    const { metrics, resources } = this.#sdk;
    const isDelta = this.#temporality === metrics.AggregationTemporality.DELTA;
    const told = [...this.#all.values()]
      .map((histogram): HistogramMetricData => ({
        ...histogram.collect(isDelta),
        dataPointType: metrics.DataPointType.HISTOGRAM,
        aggregationTemporality: this.#temporality,
      }))
      .filter(({ dataPoints }) => dataPoints.length > 0);
    const scopeMetrics = told.length === 0 ? [] : [{ scope: { name: SCOPE }, metrics: told }];
    // The reader puts its own resource in place of this one.
    return { resourceMetrics: { resource: resources.emptyResource(), scopeMetrics }, errors: [] };
  }
}

class Histogram {
  readonly series = new KeyedSeries((attributes) => this.#add(attributes));
  readonly #input: HistogramInput;
  readonly #all: Buckets[] = [];
  #since = now();

  constructor(input: HistogramInput) {
    this.#input = input;
  }

  collect(isDelta: boolean): Pick<HistogramMetricData, "descriptor" | "dataPoints"> {
    const { name, description } = this.#input;
    const startTime = this.#since;
    const endTime = now();
    const dataPoints = this.#all
      .filter(({ count }) => count > 0)
      .map((buckets) => ({
        attributes: buckets.attributes,
        startTime,
        endTime,
        value: buckets.read(),
      }));
    if (isDelta) {
      this.#since = endTime;
      for (const buckets of this.#all) buckets.clear();
    }
    return {
      descriptor: { name, description, unit: "s", valueType: ValueType.DOUBLE },
      dataPoints,
    };
  }

  #add(attributes: Attributes): Series {
    const buckets = new Buckets(attributes, this.#input.bounds);
    this.#all.push(buckets);
    return buckets;
  }
}

/** One series. */
class Buckets implements Series {
  readonly attributes: Attributes;
  readonly #bounds: readonly number[];
  #counts: number[] = [];
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;
  count = 0;

  constructor(attributes: Attributes, bounds: readonly number[]) {
    this.attributes = attributes;
    this.#bounds = bounds;
    this.clear();
  }

  record(seconds: number): void {
    let bucket = 0;
    // Bounds belong to the bucket below them. Most calls end in the first one or two.
    while (bucket < this.#bounds.length && seconds > this.#bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += seconds;
    this.count++;
    if (seconds < this.#min) this.#min = seconds;
    if (seconds > this.#max) this.#max = seconds;
  }

  read(): HistogramMetricData["dataPoints"][number]["value"] {
    return {
      buckets: { boundaries: [...this.#bounds], counts: [...this.#counts] },
      sum: this.#sum,
      count: this.count,
      min: this.#min,
      max: this.#max,
    };
  }

  clear(): void {
    this.#counts = Array.from({ length: this.#bounds.length + 1 }, () => 0);
    this.#sum = this.count = 0;
    this.#min = Infinity;
    this.#max = -Infinity;
  }
}

function now(): HrTime {
  const ms = Date.now();
  return [Math.trunc(ms / 1_000), (ms % 1_000) * 1_000_000];
}
