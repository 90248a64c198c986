/** How often values fell between bounds, and their sum: what a Prometheus histogram shows. */
export class Distribution {
  /** Upper bounds in ascending order. */
  readonly bounds: readonly number[];
  /** Values per bucket, not cumulated; the last one is above all bounds. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    counts[at]!++;
    this.count++;
    this.sum += value;
  }

  /** Values up to each bound, cumulated, ending with `+Inf`. */
  *buckets(): Generator<readonly [bound: string, count: number]> {
    let sum = 0;
    for (const [at, bound] of this.bounds.entries())
      yield [String(bound), (sum += this.counts[at]!)];
    yield ["+Inf", this.count];
  }
}

/** Labels of one series. */
export type Labels = Readonly<Record<string, string>>;

/** Distributions of one metric by the values of its labels, each made when it is first needed. */
export class Family {
  readonly #labels: readonly string[];
  readonly #bounds: readonly number[];
  readonly #rows = new Map<
    string,
    { readonly values: readonly string[]; readonly times: Distribution }
  >();

  /** @param labels names in the order in which values are given; the first says what {@link keep} goes by */
  constructor(labels: readonly string[], bounds: readonly number[]) {
    this.#labels = labels;
    this.#bounds = bounds;
  }

  of(values: readonly string[]): Distribution {
    const key = values.join("\0");
    let row = this.#rows.get(key);
    if (!row) this.#rows.set(key, (row = { values, times: new Distribution(this.#bounds) }));
    return row.times;
  }

  /** An empty value is not a label, as in Prometheus itself. */
  *rows(): Generator<readonly [Labels, Distribution]> {
    for (const { values, times } of this.#rows.values()) {
      const pairs = this.#labels.map((label, at) => [label, values[at]!] as const);
      yield [Object.fromEntries(pairs.filter(([, value]) => value !== "")), times];
    }
  }

  /** Forgets all but those whose first value is kept. */
  keep(isKept: (first: string) => boolean): void {
    for (const [key, { values }] of this.#rows) if (!isKept(values[0]!)) this.#rows.delete(key);
  }
}
