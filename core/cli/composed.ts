import { loadConfig, findConfig } from "../config/load.ts";
import { requirePlugins } from "../config/plugins.ts";
import { PluginSource } from "../config/resolve.ts";
import type { PluginComposition } from "../host/composition.ts";
import { rehearse } from "../rehearsal.ts";

/**
 * What the plugins of a config are, set up together without opening anything.
 *
 * @param file default: the config in this folder
 * @throws {GatewayError} whatever is wrong with the config or a plugin
 */
export async function composeConfig(
  file: string | undefined,
): Promise<readonly PluginComposition[]> {
  const loaded = await loadConfig(file ?? findConfig(process.cwd()));
  const source = new PluginSource(loaded.cwd);
  await requirePlugins(loaded, source);
  const gateway = await rehearse(loaded, source);
  try {
    return gateway.composition();
  } finally {
    await gateway.close({ grace: 0 });
  }
}
