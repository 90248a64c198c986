import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import type { Management } from "propylon/kit";
import { METRICS_CONTENT_TYPE } from "propylon/internal";
import type { Sources } from "./catalogue.ts";
import type { SharedHour } from "./hour-figures.ts";
import type { ReplicaFigures } from "./replica-figures.ts";
import type { MetricsOptions } from "./options.ts";
import { CachedPage } from "./page.ts";
import { summarise } from "./summary.ts";

/** `GET /metrics` for Prometheus, and `GET /_meta/metrics` as JSON as well. */
export function registerRoutes(
  { config, route }: Pick<PluginContext<MetricsOptions>, "config" | "route">,
  { metrics }: Pick<Management, "metrics">,
  sources: Sources,
  replicas: ReplicaFigures,
): void {
  const text = new CachedPage(metrics, config.cacheTtl);
  const prometheus = async (): Promise<Response> =>
    new Response(await text.read(), { headers: { "content-type": METRICS_CONTENT_TYPE } });
  const access = config.public ? "public" : "viewer";
  const { listener } = config;
  route(
    "GET",
    "/metrics",
    { access, mutates: false, ...(listener !== undefined && { listener }) },
    prometheus,
  );
  const management = { access: "viewer", mutates: false, management: true } as const;
  // Each is asked once for all who look within the period.
  const figures = new CachedPage(
    async () => JSON.stringify({ ok: true, replicas: await replicas.read() }),
    config.cacheTtl,
  );
  route("GET", "/_meta/metrics", management, async (event) => {
    const format = formatOf(event);
    if (wantsAll(event, format))
      return new Response(await figures.read(), {
        headers: { "content-type": "application/json" },
      });
    return format === "prometheus" ? prometheus() : { ok: true, metrics: summarise(sources) };
  });
}

/** `GET /_meta/metrics/hour`: the last hour by minutes, for charts. */
export function registerHour(
  { config, route }: Pick<PluginContext<MetricsOptions>, "config" | "route">,
  hours: SharedHour,
): void {
  const text = new CachedPage(async () => JSON.stringify(await hours.read()), config.cacheTtl);
  const policy = { access: "viewer", mutates: false, management: true } as const;
  route("GET", "/_meta/metrics/hour", policy, async () => {
    const headers = { "content-type": "application/json" };
    return new Response(await text.read(), { headers });
  });
}

/** @throws {GatewayError} `invalid` */
function wantsAll({ url }: RouteEvent, format: "json" | "prometheus"): boolean {
  const all = url.searchParams.get("all") ?? "0";
  if (all === "0") return false;
  if (all === "1" && format === "json") return true;
  throw new GatewayError("invalid", "The figures of all replicas cannot be had in this way.", {
    hint: "Use all=1 with format=json. Prometheus asks each replica separately.",
  });
}

function formatOf({ url }: RouteEvent): "json" | "prometheus" {
  const format = url.searchParams.get("format") ?? "json";
  if (format === "json" || format === "prometheus") return format;
  throw new GatewayError("invalid", "There is no such format.", {
    hint: "Use format=json or format=prometheus.",
  });
}
