import { resolve } from "node:path";
import { definePlugin } from "propylon";
import { Files, Metrics } from "propylon/kit";
import { Store as GatewayStore } from "propylon/store";
import { createBucket } from "./bucket.ts";
import { bucketFailureCounter, notStoredCounter, registerMetrics } from "./metrics.ts";
import { optionsSchema } from "./options.ts";
import { registerPanels } from "./panels.ts";
import { storeResults } from "./results.ts";
import { ownFinder, registerRoutes, urlMaker } from "./routes.ts";
import { Payloads } from "./service.ts";
import { FolderStorage, MemoryStorage, type PayloadStorage } from "./storage.ts";
import { IndexedStorage } from "./indexed-storage.ts";
import { Store } from "./store.ts";

export * from "./service.ts";

/** Keeps what agents produce and what is too large to be sent whole, compressed. */
export default definePlugin({
  name: "payloads",
  config: optionsSchema,
  inject: { files: Files, metrics: Metrics, store: GatewayStore },
  provides: Payloads,
  needs: ({ bucket }) => ({ packages: bucket ? ["aws4fetch"] : [] }),
  setup(gateway) {
    const { config, services } = gateway;
    const { metrics } = services;
    // Relative folders start from the config file, like every other path in it.
    const folder =
      config.store === undefined ? undefined : resolve(services.files.folder, config.store);
    const store = gateway.keep(
      `store ${folder ?? ""}`,
      () => new Store(createStorage(services.store, folder)),
      (kept) => kept.close(),
    );
    store.configure({ ...config, urlOf: urlMaker(gateway) });
    const bucket = createBucket(gateway, bucketFailureCounter(metrics));
    const findOwn = ownFinder(gateway, store);
    if (config.results) {
      const notStored = notStoredCounter(metrics);
      storeResults(gateway, { store, notStored, findOwn }, config.results);
    }
    registerRoutes(gateway, store, findOwn);
    registerPanels(gateway);
    registerMetrics(metrics, store);
    gateway.onStart(() => (gateway.info.dryRun ? undefined : store.load(bucket)));
    return store;
  },
});

function createStorage(store: GatewayStore, folder: string | undefined): PayloadStorage {
  if (store.durable) return new IndexedStorage(store, folder);
  return folder === undefined ? new MemoryStorage() : new FolderStorage(folder);
}
