import { Config, placeIssue } from "./config.ts";
import { invalidConfig, type PathIssue } from "./issue.ts";
import { checkNames } from "./names.ts";
import { Places } from "./places.ts";
import type { PluginResolver } from "./plugin-module.ts";
import type { GatewayConfig, GatewayConfigInput } from "./schema.ts";
import { moveSections } from "./sections.ts";
import { validateConfig } from "./validate.ts";

/**
 * Reads a config that is an object: checks it against the schema and fills in its defaults.
 *
 * @param resolver finds the plugins that claim sections of it
 * @param source what it is called in messages
 * @throws {GatewayError} `invalid` with every problem in `data.issues`
 */
export function parseConfig(
  input: GatewayConfigInput | GatewayConfig,
  resolver: PluginResolver,
  source = "the config",
): Promise<Config> {
  return parseValue(input, resolver, new Places(source), new Set(), checkNames(input));
}

/**
 * Makes the config of a value, and tells all that is wrong with it.
 *
 * @param found what is known to be wrong already
 * @throws {GatewayError} as {@link parseConfig}
 */
export async function parseValue(
  value: unknown,
  resolver: PluginResolver,
  places: Places,
  secrets: ReadonlySet<string>,
  found: readonly PathIssue[],
): Promise<Config> {
  const moved = await moveSections(value, resolver, places);
  const { config, issues } = validateConfig(moved.value, places, moved.known);
  // An unset variable leaves its text in place: problems of that same value would be noise.
  const wrong = issues.filter((issue) => !places.expandedAt(issue.path)?.isUnset);
  const all = [...found, ...moved.issues, ...wrong];
  if (all.length > 0 || config === undefined)
    throw invalidConfig(all.map((issue) => placeIssue(issue, { places, secrets })));
  return new Config(config, places, secrets);
}
