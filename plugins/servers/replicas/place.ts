import type { PluginContext } from "propylon";
import type { Store } from "propylon/store";
import { connectTimeoutOf, patienceOf } from "../entry.ts";
import type { UpstreamConfig } from "../connection/dial.ts";
import { PlacedServer } from "./placed-server.ts";
import { Placements } from "./placements.ts";
import { Upstream, type UpstreamOptions } from "../upstream/upstream.ts";

/** Whether one replica of the store is to run it for all. */
export function isPlaced(config: UpstreamConfig): boolean {
  return "command" in config && config.placement === "one";
}

/** Whether the gateway is several processes. */
export function hasWorkers({ info }: Pick<PluginContext, "info">): boolean {
  return (info.effectiveConfig() as EffectiveConfig).workers !== 1;
}

/**
 * Warns of children of which each worker would start one of its own, where the config does not say that this is intended: what one
 * of them remembers, a call at another worker does not find.
 */
export function checkPlacement({ info }: Pick<PluginContext, "info">) {
  const { servers } = info.effectiveConfig() as EffectiveConfig;
  const names = Object.entries(servers).flatMap(([name, entry]) =>
    isUndecided(entry) ? name : [],
  );
  if (names.length === 0) return undefined;
  const what = names.length === 1 ? `server ${names[0]}` : `servers ${names.join(", ")}`;
  return {
    message: `Each worker starts a child of its own for ${what}: calls of one session may reach different children.`,
    path: ["servers", names[0]!, "command"],
    hint: "Write placement: one for a server that remembers something between calls, and placement: each for any other.",
  };
}

interface EffectiveConfig {
  readonly workers: number | "auto";
  readonly servers: Readonly<
    Record<string, { readonly type: string; readonly placement?: string }>
  >;
}

/** One that is switched off counts too: it may be switched on at any time, and a check starts none. */
function isUndecided(entry: EffectiveConfig["servers"][string]): boolean {
  return entry.type === "stdio" && entry.placement === undefined;
}

/** The servers that one replica of the store runs for all. They move before this gateway ends. */
export function placementsOf(gateway: PluginContext, store: Store): Placements {
  const { log } = gateway;
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
    // It may be started a second time.
    patience: connectTimeoutOf(config) * 2,
    firstStart: patienceOf(config),
    create: (known) => new Upstream({ ...options, ...known }),
  });
}
