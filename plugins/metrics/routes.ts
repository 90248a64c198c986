import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { METRICS_CONTENT_TYPE } from "propylon/kit";
import type { Sources } from "./catalogue.ts";
import type { MetricsOptions } from "./options.ts";
import { CachedPage } from "./page.ts";
import { summarise } from "./summary.ts";

/** `GET /metrics` for Prometheus, and `GET /_meta/metrics` as JSON as well. */
export function registerRoutes(
  { config, control, route }: Pick<PluginContext<MetricsOptions>, "config" | "control" | "route">,
  sources: Sources,
): void {
  const text = new CachedPage(() => control.metrics(), config.cacheTtl);
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
  route("GET", "/_meta/metrics", management, (event) =>
    formatOf(event) === "prometheus" ? prometheus() : { ok: true, metrics: summarise(sources) },
  );
}

function formatOf({ url }: RouteEvent): "json" | "prometheus" {
  const format = url.searchParams.get("format") ?? "json";
  if (format === "json" || format === "prometheus") return format;
  throw new GatewayError("invalid", "There is no such format.", {
    hint: "Use format=json or format=prometheus.",
  });
}
