import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import type { Distribution, Labels } from "./distribution.ts";

/** One series: its labels and its value. */
export type Sample = readonly [labels: Labels, value: number];

/** What happens to the values of several processes that are one gateway. */
export type Together = "sum" | "max" | "min" | "average";

/** Registers metrics whose values are read when somebody scrapes; until then nothing is done for them. */
export class Exposition {
  readonly #registry: Registry;
  readonly #prefix: string;

  constructor(registry: Registry, prefix: string) {
    this.#registry = registry;
    this.#prefix = prefix;
  }

  gauge(
    name: string,
    help: string,
    labelNames: string[],
    read: () => Iterable<Sample>,
    together: Together = "sum",
  ): void {
    const gauge = new Gauge({
      ...this.#identity(name, help),
      aggregator: together,
      labelNames,
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.set(labels, value);
      },
    });
    this.#registry.registerMetric(gauge);
  }

  counter(name: string, help: string, labelNames: string[], read: () => Iterable<Sample>): void {
    const counter = new Counter({
      ...this.#identity(name, help),
      labelNames,
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
    this.#registry.registerMetric(counter);
  }

  /**
   * A histogram of distributions that something else counted. The library's own takes single observations only, and looks its
   * labels up for each.
   */
  histogram(
    name: string,
    help: string,
    read: () => Iterable<readonly [Labels, Distribution]>,
  ): void {
    const identity = { name: `${this.#prefix}${name}`, help };
    const collect = (): readonly HistogramSample[] =>
      [...read()].flatMap(([labels, times]) => samplesOf(identity.name, labels, times));
    const metric = {
      ...identity,
      type: "histogram",
      aggregator: "sum",
      reset() {},
      get: () => Promise.resolve({ ...metric, values: collect().map(withAllLabels) }),
      getForPromString: () => Promise.resolve({ ...metric, values: collect() }),
    };
    // The type asks for one of the library's four classes; its registry only calls `get`.
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  /** The library's default is a registry for the whole process. */
  #identity(name: string, help: string): { name: string; help: string; registers: [] } {
    return { name: `${this.#prefix}${name}`, help, registers: [] };
  }
}

/** A sample as the registry prints it; labels that many samples share are made into text once. */
interface HistogramSample {
  readonly metricName: string;
  readonly labels: Labels;
  readonly sharedLabels: Labels;
  readonly value: number;
}

const NONE: Labels = {};

function samplesOf(name: string, sharedLabels: Labels, times: Distribution): HistogramSample[] {
  const samples = [...times.buckets()].map(([le, value]) => ({
    metricName: `${name}_bucket`,
    labels: { le },
    sharedLabels,
    value,
  }));
  return [
    ...samples,
    { metricName: `${name}_sum`, labels: NONE, sharedLabels, value: times.sum },
    { metricName: `${name}_count`, labels: NONE, sharedLabels, value: times.count },
  ];
}

function withAllLabels({ metricName, labels, sharedLabels, value }: HistogramSample): object {
  return { metricName, labels: { ...sharedLabels, ...labels }, value };
}
