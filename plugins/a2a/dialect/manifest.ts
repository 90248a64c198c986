import type { PluginContext } from "propylon";
import { CARD_PATH, CONTRACT_VERSIONS, manifestSchema, type Manifest } from "propylon/contract";
import type { Card } from "../card.ts";
import type { A2aOptions } from "../options.ts";

/** Path of the health check (R017). */
export const HEALTH_PATH = "/health";

/**
 * What the runtime declares of itself, worked out from its config (R077-R079, R086, R088).
 *
 * @throws {ZodError} for values in the option `manifest` that do not go together
 */
export function createManifest(
  { config, control }: PluginContext<A2aOptions>,
  card: Card,
): Manifest {
  const { name, version, description } = card.document;
  const { listener, path } = card.place;
  const address = control.describe().listeners.find((each) => each.name === listener)!;
  const compacts = config.sessions.compaction !== false;
  const { runtime, server, capabilities, ...rest } = config.manifest ?? {};
  return manifestSchema.parse({
    contractVersion: CONTRACT_VERSIONS[0],
    conformanceLevel: compacts ? 3 : 2,
    ...rest,
    runtime: { name, version, description, ...runtime },
    server: {
      port: Number(new URL(address.url).port) || (address.tls ? 443 : 80),
      healthPath: HEALTH_PATH,
      agentCardPath: CARD_PATH,
      taskPath: path,
      ...server,
    },
    capabilities: {
      streaming: true,
      traceContext: true,
      gracefulShutdown: true,
      contextCompaction: compacts,
      ...capabilities,
    },
  });
}
