import { checkPlugins } from "../config/plugins.ts";
import { configJsonSchema } from "../config/jsonschema.ts";
import { loadConfig } from "../config/load.ts";
import { firstPartyPlugins } from "../config/first-party.ts";
import { PluginSource } from "../config/resolve.ts";
import { invalidConfig } from "../config/issue.ts";

/** Prints the JSON Schema of the config with the plugins that come with Propylon; with a config, also with its other ones. */
export async function schema(config: string | undefined): Promise<void> {
  console.log(JSON.stringify(configJsonSchema(await pluginsOf(config)), null, 2));
}

async function pluginsOf(
  config: string | undefined,
): Promise<Parameters<typeof configJsonSchema>[0]> {
  const ours = await firstPartyPlugins();
  if (config === undefined) return ours;
  const loaded = await loadConfig(config);
  const { plugins, issues } = await checkPlugins(loaded, new PluginSource(loaded.cwd));
  if (issues.length > 0) throw invalidConfig(issues);
  return { ...ours, ...Object.fromEntries(plugins) };
}
