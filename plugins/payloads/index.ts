import { resolve } from "node:path";
import { definePlugin, type PluginContext } from "propylon";
import { perGeneration } from "propylon/kit";
import { Gauge } from "prom-client";
import { formerOptions, optionsSchema, type PayloadOptions } from "./options.ts";
import { storeResults } from "./results.ts";
import { payloadRoutes } from "./routes.ts";
import { Payloads } from "./service.ts";
import { FolderShelf, MemoryShelf } from "./shelf.ts";
import { Store } from "./store.ts";

export * from "./service.ts";

/** Keeps what agents produce and what is too large to be sent whole, compressed. */
export default definePlugin({
  name: "payloads",
  config: optionsSchema,
  formerOptions,
  provides: Payloads,
  setup(gateway) {
    const { config, metrics } = gateway;
    // Relative folders start from the config file, like every other path in it.
    const folder =
      config.store === undefined ? undefined : resolve(gateway.files.folder, config.store);
    const store = gateway.keep(
      `store ${folder ?? ""}`,
      () => new Store(folder === undefined ? new MemoryShelf() : new FolderShelf(folder)),
      (kept) => kept.close(),
    );
    store.configure({ ...config, urlOf: urlMaker(gateway) });
    gateway.onStart(() => (gateway.control.dryRun ? undefined : store.load()));
    payloadRoutes(gateway, store);
    if (config.results) storeResults(gateway, store, config.results);
    metrics.registerMetric(gauge("payloads_stored", "Payloads kept now.", () => store.usage.count));
    metrics.registerMetric(
      gauge(
        "payloads_bytes",
        "Bytes of the payloads kept now, as stored.",
        () => store.usage.bytes,
      ),
    );
    return store;
  },
});

/**
 * Where a client fetches a payload: below the public URL of the gateway. That is looked up once per config in force: the
 * status of a thousand agents asks for a thousand URLs.
 */
function urlMaker(gateway: PluginContext<PayloadOptions>): (id: string) => string {
  const { config, control } = gateway;
  const base = perGeneration(gateway, () => {
    const written = (control.effectiveConfig() as { publicUrl?: string }).publicUrl;
    const url = config.publicUrl ?? written ?? control.describe().listeners[0]!.url;
    return url.replace(/\/$/, "");
  });
  return (id) => `${base()}/api/agents/${encodeURIComponent(id)}/payload`;
}

function gauge(name: string, help: string, read: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
}
