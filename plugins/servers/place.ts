import type { PluginContext } from "propylon";
import { connectTimeoutOf, type Store } from "propylon/kit";
import type { UpstreamConfig } from "./dial.ts";
import { PlacedServer } from "./placed-server.ts";
import { Placements } from "./placements.ts";
import { Upstream, type UpstreamOptions } from "./upstream.ts";

/** Whether one gateway of the store is to run it for all. */
export function isPlaced(config: UpstreamConfig): boolean {
  return "command" in config && config.placement === "one";
}

/** The servers that one gateway of the store runs for all. They move before this gateway ends. */
export function placementsOf(gateway: PluginContext): Placements {
  const { store, log } = gateway;
  const placements = gateway.keep(
    "placements",
    () => new Placements(store, log),
    (kept) => kept.close(),
  );
  gateway.hook("gateway:drain", ({ waitUntil }) => waitUntil(placements.move()));
  return placements;
}

/** Makes one of them. */
export function place(
  options: UpstreamOptions & { readonly maxDepth: number },
  placements: Placements,
  store: Store,
): PlacedServer {
  const { name, log, catalogue, config, maxDepth } = options;
  return new PlacedServer({
    name,
    log,
    store,
    placements,
    catalogue,
    maxDepth,
    patience: connectTimeoutOf(config),
    create: (known) => new Upstream({ ...options, ...known }),
  });
}
