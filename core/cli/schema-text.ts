import { configJsonSchema } from "../config/jsonschema.ts";
import { loadConfig } from "../config/load.ts";
import { firstPartyPlugins } from "../config/first-party.ts";
import { checkHere } from "./source.ts";

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
  const { plugins } = await checkHere(loaded.config, loaded.cwd);
  return { ...ours, ...Object.fromEntries(plugins.map(({ key, plugin }) => [key, plugin])) };
}
