import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import breaker from "propylon/plugins/breaker";
import metrics from "propylon/plugins/metrics";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { parsePage, promtool, type PageMetric } from "./exposition.ts";

const read = (name: string): string =>
  readFileSync(new URL(`../../../plugins/metrics/${name}`, import.meta.url), "utf8");

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
    readonly gridPos: { x: number; y: number; w: number; h: number };
  }[];
  readonly templating: { readonly list: readonly { readonly query: string | { query: string } }[] };
}

interface Alerts {
  readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[];
}

/** Functions, aggregations and words of PromQL; everything else that looks like a name is a metric or a label. */
const WORDS = new Set(
  "sum max min avg count topk rate increase histogram_quantile by without on and or unless label_values".split(
    " ",
  ),
);

/** Metrics, with the labels asked of them, that an expression names. */
function metricsIn(expression: string): { name: string; labels: string[] }[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\b(?:by|without)\s*\([^)]*\)/g, "")
    .replace(/^label_values\((\w+),.*\)$/, "$1");
  return [...bare.matchAll(/([a-zA-Z_]\w*)(?:\{([^}]*)\})?/g)]
    .filter(([, name]) => !WORDS.has(name!))
    .map(([, name, labels = ""]) => ({
      name: name!,
      labels: [...labels.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label]) => label!),
    }))
    .filter(({ name }) => !/^(?:le|server|tool|code)$/.test(name));
}

/** A gateway in which every metric has a series. */
async function livePage(): Promise<ReadonlyMap<string, PageMetric>> {
  const { gateway, client, url } = await setupGateway({
    plugins: [[metrics, { cacheTtl: 0 }], breaker],
    config: { servers: { gone: { url: "http://127.0.0.1:9/mcp" } } },
  });
  await gateway.call({ server: "gone", name: "x", timeout: 200 }).catch(() => {});
  await gateway.apply({ plugins: { nonesuch: {} } }).catch(() => {});
  await client.readResource({ uri: "file:///none" }).catch(() => {});
  return parsePage(await (await fetch(`${url}/metrics`)).text());
}

function nameOnPage(page: ReadonlyMap<string, PageMetric>, name: string): PageMetric | undefined {
  return page.get(name) ?? page.get(name.replace(/_(?:bucket|sum|count)$/, ""));
}

describe("what is shipped for Prometheus and Grafana", () => {
  const dashboard = JSON.parse(read("grafana.json")) as Dashboard;
  const alerts = parse(read("alerts.yaml")) as Alerts;
  const panels = dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => [title, expr] as const),
  );
  const variables = dashboard.templating.list.flatMap(({ query }) =>
    typeof query === "string" ? [] : [["variable", query.query] as const],
  );
  const rules = alerts.groups.flatMap(({ rules: all }) =>
    all.map(({ alert, expr }) => [alert, expr] as const),
  );

  it("M117: every metric in the dashboard and in the alert rules is on the page of a running gateway", async () => {
    const page = await livePage();
    const asked = [...panels, ...variables, ...rules];
    expect(asked.length).toBeGreaterThan(25);
    for (const [where, expression] of asked) {
      const named = metricsIn(expression);
      expect(named, `${where} names a metric`).not.toEqual([]);
      for (const { name, labels } of named) {
        const metric = nameOnPage(page, name);
        expect(metric, `${where}: ${name}`).toBeDefined();
        const { samples } = metric!;
        const known = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
        const wrong = labels.filter((label) => samples.length > 0 && !known.has(label));
        expect(wrong, `${where}: labels of ${name}`).toEqual([]);
      }
    }
  });

  it("notices a metric that does not exist", async () => {
    const [named] = metricsIn('sum(rate(tool_cals_total{server=~"a"}[5m]))');
    expect(nameOnPage(await livePage(), named!.name)).toBeUndefined();
  });

  it("no panel lies on another", () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(cells.every((cell) => Number(cell.split(":")[0]) < 24)).toBe(true);
  });

  it("promtool accepts the rules", async () => {
    const folder = makeFolder();
    const file = join(folder, "alerts.yaml");
    writeFileSync(file, read("alerts.yaml"));
    expect(promtool(["check", "rules", file], "") ?? "").toBe("");
    expect(new Set(rules.map(([alert]) => alert)).size).toBe(rules.length);
  });
});
