import { definePlugin, GatewayError, optional, type RouteEvent } from "propylon";
import { METRICS_CONTENT_TYPE } from "propylon/kit";
import { Gating } from "propylon/plugins/gating";
import { exposeCalls, exposeConventions, exposeGateway, type Sources } from "./catalogue.ts";
import { Exposition } from "./exposition.ts";
import { Ledger } from "./ledger.ts";
import { GatewayLife } from "./life.ts";
import { measure } from "./measure.ts";
import { formerOptions, optionsSchema } from "./options.ts";
import { Page } from "./page.ts";
import { exposeProcess } from "./process.ts";
import { summarise } from "./summary.ts";
import { Switches } from "./switches.ts";

/** Figures about every call and the gateway itself, for Prometheus and as JSON. */
export default definePlugin({
  name: "metrics",
  config: optionsSchema,
  formerOptions,
  inject: { gating: optional(Gating) },
  setup(gateway) {
    const { config, control, services } = gateway;
    const { buckets } = config;
    // Figures live through reloads; other buckets need other histograms.
    const ledger = gateway.keep(`ledger ${buckets.join(" ")}`, () => new Ledger(buckets));
    const life = gateway.keep(`life ${buckets.join(" ")}`, () => new GatewayLife(buckets));
    const switches = new Switches(() => gateway.control.servers, services.gating);
    const sources: Sources = { ledger, life, switches, gateway };
    const page = new Exposition(gateway.metrics, config.prefix);
    exposeCalls(page, sources);
    exposeConventions(page, sources);
    exposeGateway(page, sources);
    if (config.process) exposeProcess(page);

    measure(gateway, ledger);
    life.watch(gateway);
    gateway.onStart(() => life.meet(gateway.control.servers));
    gateway.hook("reload:done", () => {
      const isServer = (name: string): boolean => gateway.control.servers.has(name);
      ledger.keep(isServer);
      life.keep(isServer);
    });

    const text = new Page(() => control.metrics(), config.cacheTtl);
    const prometheus = async (): Promise<Response> =>
      new Response(await text.read(), { headers: { "content-type": METRICS_CONTENT_TYPE } });
    gateway.route(
      "GET",
      "/metrics",
      {
        access: config.public ? "public" : "viewer",
        mutates: false,
        ...(config.listener !== undefined && { listener: config.listener }),
      },
      prometheus,
    );
    gateway.route(
      "GET",
      "/_meta/metrics",
      { access: "viewer", mutates: false, management: true },
      (event) =>
        formatOf(event) === "prometheus" ? prometheus() : { ok: true, metrics: summarise(sources) },
    );
  },
});

function formatOf({ url }: RouteEvent): "json" | "prometheus" {
  const format = url.searchParams.get("format") ?? "json";
  if (format === "json" || format === "prometheus") return format;
  throw new GatewayError("invalid", "There is no such format.", {
    hint: "Use format=json or format=prometheus.",
  });
}
