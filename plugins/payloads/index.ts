import { resolve } from "node:path";
import { definePlugin } from "propylon";
import { registerMetrics } from "./metrics.ts";
import { formerOptions, optionsSchema } from "./options.ts";
import { storeResults } from "./results.ts";
import { registerRoutes, urlMaker } from "./routes.ts";
import { Payloads } from "./service.ts";
import { FolderStorage, MemoryStorage } from "./storage.ts";
import { Store } from "./store.ts";

export * from "./service.ts";

/** Keeps what agents produce and what is too large to be sent whole, compressed. */
export default definePlugin({
  name: "payloads",
  config: optionsSchema,
  formerOptions,
  provides: Payloads,
  setup(gateway) {
    const { config } = gateway;
    // Relative folders start from the config file, like every other path in it.
    const folder =
      config.store === undefined ? undefined : resolve(gateway.files.folder, config.store);
    const store = gateway.keep(
      `store ${folder ?? ""}`,
      () => new Store(folder === undefined ? new MemoryStorage() : new FolderStorage(folder)),
      (kept) => kept.close(),
    );
    store.configure({ ...config, urlOf: urlMaker(gateway) });
    if (config.results) storeResults(gateway, store, config.results);
    registerRoutes(gateway, store);
    registerMetrics(gateway.metrics, store);
    gateway.onStart(() => (gateway.control.dryRun ? undefined : store.load()));
    return store;
  },
});
