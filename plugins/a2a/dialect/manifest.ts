import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { PluginContext } from "propylon";
import { type Files, FIRST_PROBLEM, perGeneration } from "propylon/kit";
import { CARD_PATH, CONTRACT_VERSIONS, manifestSchema, type Manifest } from "propylon/contract";
import type { Card } from "../standard/card.ts";
import type { A2aOptions } from "../options.ts";

type Capabilities = Pick<
  Manifest["capabilities"],
  "streaming" | "traceContext" | "gracefulShutdown" | "contextCompaction"
>;

/** Path of the health check. */
export const HEALTH_PATH = "/health";

/** Writes the manifest where a container image or a sidecar looks for it. @returns the manifest as it is now */
export function keepManifest(
  gateway: PluginContext<A2aOptions, { readonly files: typeof Files }>,
  card: Card,
): () => Manifest {
  const create = perGeneration(gateway, () => createManifest(gateway, card));
  const { file } = gateway.config.manifest;
  if (file === undefined) return create;
  const write = async (): Promise<void> => {
    try {
      await writeFile(
        resolve(gateway.services.files.folder, file),
        `${JSON.stringify(create(), undefined, 2)}\n`,
      );
    } catch (error) {
      gateway.log.error({ err: error, file }, "the manifest cannot be written");
    }
  };
  // The port is known once the listener is open.
  gateway.hook("gateway:ready", () => void write());
  gateway.hook("reload:done", () => void write());
  return create;
}

/** What the runtime declares of itself, worked out from its config and what stands around it. */
function createManifest({ config, info }: PluginContext<A2aOptions>, card: Card): Manifest {
  const { name, version, description } = card.document;
  const { listener, path } = card.place;
  const { listeners, plugins } = info.describe();
  const address = listeners.find((each) => each.name === listener)!;
  const capabilities = capabilitiesOf(config, new Set(plugins.map((plugin) => plugin.name)));
  const { runtime, server, capabilities: said, file: _file, ...rest } = config.manifest;
  return manifestSchema.parse(
    {
      contractVersion: CONTRACT_VERSIONS[0],
      conformanceLevel: levelOf(capabilities),
      ...rest,
      runtime: { name, version, description, ...runtime },
      server: {
        port: Number(new URL(address.url).port) || (address.tls ? 443 : 80),
        healthPath: HEALTH_PATH,
        agentCardPath: CARD_PATH,
        taskPath: path,
        ...server,
      },
      capabilities: { ...capabilities, ...said },
    },
    FIRST_PROBLEM,
  );
}

/**
 * What can be seen of the skill that the contract speaks to, which is the first. Only agents have a conversation to remember and to
 * compact, and a trace goes on to where it can be seen with the plugin telemetry alone.
 */
function capabilitiesOf(
  { skills, sessions }: A2aOptions,
  plugins: ReadonlySet<string>,
): Capabilities {
  const isAgent = skills[0]?.agent !== undefined;
  return {
    // Every skill is streamed, by its status at least.
    streaming: true,
    traceContext: plugins.has("telemetry"),
    gracefulShutdown: true,
    contextCompaction: isAgent && sessions.compaction !== false,
  };
}

/** Level 2 asks for traces and a graceful shutdown, level 3 also for streams, memory and its compaction. */
function levelOf(capabilities: Capabilities): 1 | 2 | 3 {
  const { streaming, traceContext, gracefulShutdown, contextCompaction } = capabilities;
  if (!traceContext || !gracefulShutdown) return 1;
  return streaming && contextCompaction ? 3 : 2;
}
