import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import type { Distribution, Labels } from "./distribution.ts";

/** One series: its labels and its value. */
export type Sample = readonly [labels: Labels, value: number];

/** Registers metrics whose values are read when somebody scrapes; until then nothing is done for them. */
export class Exposition {
  readonly #registry: Registry;
  readonly #prefix: string;

  constructor(registry: Registry, prefix: string) {
    this.#registry = registry;
    this.#prefix = prefix;
  }

  gauge(name: string, help: string, labelNames: string[], read: () => Iterable<Sample>): void {
    const gauge = new Gauge({
      ...this.#identity(name, help),
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
   * A histogram of distributions that were counted elsewhere. The library's own takes single observations only, and looks its
   * labels up for each.
   */
  histogram(
    name: string,
    help: string,
    read: () => Iterable<readonly [Labels, Distribution]>,
  ): void {
    const identity = { name: `${this.#prefix}${name}`, help };
    const metric = {
      ...identity,
      type: "histogram",
      aggregator: "sum",
      reset() {},
      get: () =>
        Promise.resolve({
          ...identity,
          type: "histogram",
          values: [...read()].flatMap(([labels, times]) => samplesOf(identity.name, labels, times)),
        }),
    };
    // The type asks for one of the library's four classes; its registry only calls `get`.
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  /** The library's default is a registry for the whole process. */
  #identity(name: string, help: string): { name: string; help: string; registers: [] } {
    return { name: `${this.#prefix}${name}`, help, registers: [] };
  }
}

/** A sample as the registry prints it. */
interface NamedSample {
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

function samplesOf(name: string, labels: Labels, times: Distribution): NamedSample[] {
  return [
    ...[...times.buckets()].map(([le, value]) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le },
      value,
    })),
    { metricName: `${name}_sum`, labels, value: times.sum },
    { metricName: `${name}_count`, labels, value: times.count },
  ];
}
