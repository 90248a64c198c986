import { ConfigFile } from "../file/config-file.ts";
import { configJsonSchema } from "../gateway/check/jsonschema.ts";
import { firstPartyPlugins } from "../gateway/check/first-party.ts";

/** Prints the JSON Schema of the config with the plugins that come with Propylon; with a config, also with its other ones. */
export async function schema(config: string | undefined): Promise<void> {
  console.log(JSON.stringify(configJsonSchema(await pluginsOf(config)), null, 2));
}

async function pluginsOf(
  config: string | undefined,
): Promise<Parameters<typeof configJsonSchema>[0]> {
  const ours = await firstPartyPlugins();
  if (config === undefined) return ours;
  const { plugins } = await new ConfigFile(config).check();
  return { ...ours, ...Object.fromEntries(plugins.map(({ key, plugin }) => [key, plugin])) };
}
