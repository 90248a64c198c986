import { spawnSync } from "node:child_process";

/** One metric of a page in the Prometheus text format. */
export interface PageMetric {
  readonly type: string;
  readonly samples: readonly Sample[];
}

/** One line with a value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const SAMPLE = new RegExp(
  `^(${NAME})(?:\\{(.*)\\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|\\+Inf|-Inf|NaN)$`,
);

/**
 * Parses a page by the rules of the exposition format 0.0.4, and refuses what a scraper or `promtool check metrics` would: a
 * metric twice, a sample without or apart from its metric, a duplicate series, histograms that do not add up, missing help,
 * counters without `_total`.
 */
export function parsePage(text: string): ReadonlyMap<string, PageMetric> {
  const metrics = new Map<string, { type: string; samples: Sample[] }>();
  const helps = new Set<string>();
  let current = "";
  if (!text.endsWith("\n")) throw new Error("the page does not end with a line break");
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === "HELP") helps.add(name!);
    else if (kind === "TYPE") {
      if (metrics.has(name!)) throw new Error(`${name} occurs twice`);
      if (!helps.has(name!)) throw new Error(`${name} has no help before its type`);
      metrics.set((current = name!), { type: rest!, samples: [] });
    } else addSample(metrics, current, line);
  }
  for (const [name, { type, samples }] of metrics) checkMetric(name, type, samples);
  return metrics;
}

function addSample(
  metrics: Map<string, { type: string; samples: Sample[] }>,
  current: string,
  line: string,
): void {
  const match = SAMPLE.exec(line);
  if (!match) throw new Error(`not a sample: ${line}`);
  const [, name = "", labels = "", value] = match;
  const metric = metrics.get(current);
  const suffix = metric?.type === "histogram" ? /^_(?:bucket|sum|count)$/ : /^$/;
  if (!metric || !name.startsWith(current) || !suffix.test(name.slice(current.length)))
    throw new Error(`a sample of another metric than ${current}: ${line}`);
  metric.samples.push({
    name,
    labels: parseLabels(labels),
    value: Number(value!.replace("Inf", "Infinity")),
  });
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    if (!match || Object.hasOwn(labels, match[1]!)) throw new Error(`wrong labels: ${text}`);
    labels[match[1]!] = match[2]!.replace(/\\(.)/g, (_, char: string) =>
      char === "n" ? "\n" : char,
    );
  }
  return labels;
}

function checkMetric(name: string, type: string, samples: readonly Sample[]): void {
  if ((type === "counter") !== name.endsWith("_total"))
    throw new Error(`${name} is a ${type} by that name`);
  const keys = samples.map((sample) => `${sample.name} ${keyOf(sample.labels)}`);
  if (new Set(keys).size < keys.length) throw new Error(`${name} has a series twice`);
  if (type === "counter" && samples.some(({ value }) => value < 0))
    throw new Error(`${name} is negative`);
  if (type === "histogram") checkHistogram(name, samples);
}

/** Buckets rise to `+Inf`, which equals the count; every series has all three parts. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const groups = groupBySeries(samples);
  for (const group of groups.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const counts = group.filter((sample) => sample.name === `${name}_count`);
    const sums = group.filter((sample) => sample.name === `${name}_sum`);
    const bounds = buckets.map(({ labels }) => Number(labels["le"]!.replace("Inf", "Infinity")));
    const rises = (values: readonly number[]): boolean =>
      values.every((value, at) => at === 0 || value >= values[at - 1]!);
    const isWhole =
      counts.length === 1 &&
      sums.length === 1 &&
      bounds.at(-1) === Infinity &&
      buckets.at(-1)?.value === counts[0]!.value;
    if (!isWhole || !rises(bounds) || !rises(buckets.map(({ value }) => value)))
      throw new Error(`the histogram ${name} does not add up`);
  }
}

function groupBySeries(samples: readonly Sample[]): Map<string, Sample[]> {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = keyOf(labels);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  return groups;
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Values of one metric by the given labels, joined by a space. */
export function valuesOf(
  page: ReadonlyMap<string, PageMetric>,
  name: string,
  ...by: readonly string[]
): Record<string, number> {
  const samples = page.get(name)?.samples ?? [];
  return Object.fromEntries(
    samples.map(({ labels, value }) => [by.map((label) => labels[label]).join(" "), value]),
  );
}

/** What promtool says about a page; `undefined` where it is not installed (PROMTOOL or the PATH). */
export function promtool(args: readonly string[], input: string): string | undefined {
  const { error, status, stdout, stderr } = spawnSync(process.env["PROMTOOL"] ?? "promtool", args, {
    input,
    encoding: "utf8",
  });
  if (error) return undefined;
  return status === 0 ? "" : `${stdout}${stderr}`;
}
