import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { PluginContext } from "propylon";
import {
  CARD_PATH,
  CONTRACT_VERSIONS,
  MANIFEST_FILE,
  manifestSchema,
  type Manifest,
} from "propylon/contract";
import type { Card } from "../card.ts";
import type { A2aOptions } from "../options.ts";

/** Path of the health check (R017). */
export const HEALTH_PATH = "/health";

/** Serves the manifest, and writes it where a container image or a sidecar looks for it (R077). */
export function serveManifest(gateway: PluginContext<A2aOptions>, card: Card): void {
  const options = { access: "public", mutates: false, listener: card.place.listener } as const;
  const create = (): Manifest => createManifest(gateway, card);
  gateway.route("GET", `/${MANIFEST_FILE}`, options, create);
  const { file } = gateway.config.manifest;
  if (file === undefined) return;
  const write = async (): Promise<void> => {
    try {
      await writeFile(resolve(gateway.cwd, file), `${JSON.stringify(create(), undefined, 2)}\n`);
    } catch (error) {
      gateway.log.error({ err: error, file }, "the manifest cannot be written");
    }
  };
  // The port is known once the listener is open.
  gateway.hook("gateway:ready", () => void write());
  gateway.hook("reload:done", () => void write());
}

/** What the runtime declares of itself, worked out from its config (R077-R079, R086, R088). */
function createManifest({ config, control }: PluginContext<A2aOptions>, card: Card): Manifest {
  const { name, version, description } = card.document;
  const { listener, path } = card.place;
  const address = control.describe().listeners.find((each) => each.name === listener)!;
  const compacts = config.sessions.compaction !== false;
  const { runtime, server, capabilities, file: _file, ...rest } = config.manifest;
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
