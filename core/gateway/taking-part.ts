import { collectMetrics, renderMetrics, renderTogether } from "./metrics.ts";
import { applyTogether, reloadError } from "./activate.ts";
import type { GatewayParts } from "./parts.ts";

/** Lets a gateway do with the other workers of its machine what they do as one. */
export function takePart(parts: GatewayParts): void {
  const { seat, hooks } = parts;
  if (!seat) return;
  seat.takePart({
    apply: (text, vote) => applyTogether(parts, text, vote),
    refuse: (cause) => hooks.emit("reload:failed", reloadError(cause)),
  });
  seat.tellReplica(parts.store.connection.replica, (gone) => void parts.store.forget(gone));
  seat.tellMetrics(() => collectMetrics(parts.generation.scopes));
}

/** All plugins' metrics as one Prometheus text page, those of all workers together. */
export async function metricsOf({ generation, seat }: GatewayParts): Promise<string> {
  return seat ? renderTogether(await seat.metrics()) : renderMetrics(generation.scopes);
}
