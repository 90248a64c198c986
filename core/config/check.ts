import { z } from "zod";
import { DEFAULT_PLUGINS } from "../plugin/defaults.ts";
import { checkParts, checkWithPlugins } from "./checks.ts";
import type { Config } from "./config.ts";
import { readEntries } from "./typed-entries.ts";
import { invalidConfig, type PathIssue } from "./issue.ts";
import { loadIssue, type CheckedPlugin, type PluginResolver } from "./plugin-module.ts";
import type { GatewayConfig } from "./schema.ts";
import { validatePart } from "./validate.ts";
import { isPlainObject } from "./variables.ts";

/** A config with its plugins, in which nothing is wrong as far as that shows before they are set up. */
export interface CheckedConfig {
  readonly config: Config;
  readonly plugins: readonly CheckedPlugin[];
}

/**
 * Checks a config that was read with its plugins: that they load, their options, the servers that they serve, and what parts say
 * of each other. Everything that checks, starts, plans, reloads, edits or builds a gateway checks here.
 *
 * @throws {GatewayError} `invalid` with every problem and its place in `data.issues`
 */
export async function check(config: Config, resolver: PluginResolver): Promise<CheckedConfig> {
  const { values } = config;
  const { plugins, issues } = await readPlugins(config, resolver);
  const found = [...issues, ...checkParts(values)];
  // With a plugin that did not load, what it would have provided is not missing.
  const entries = issues.length === 0 ? readEntries(config, plugins) : undefined;
  if (entries) found.push(...entries.issues, ...checkWithPlugins(values, plugins));
  if (found.length > 0) throw invalidConfig(found.map((issue) => config.place(issue)));
  return {
    config: config.with({ plugins: optionsRead(values, plugins) }, entries?.options),
    plugins,
  };
}

async function readPlugins(
  config: Config,
  resolver: PluginResolver,
): Promise<{ readonly plugins: readonly CheckedPlugin[]; readonly issues: readonly PathIssue[] }> {
  const plugins: CheckedPlugin[] = [];
  const issues: PathIssue[] = [];
  for (const [key, options] of Object.entries({ ...BY_DEFAULT, ...config.values.plugins })) {
    if (options === false) continue;
    const written = typeof options === "object" && options !== null ? options : {};
    try {
      const plugin = await resolver.resolve(key);
      const schema = plugin.config ?? NO_OPTIONS;
      const part = validatePart(schema, written, ["plugins", key], config.places);
      if ("issues" in part) issues.push(...part.issues);
      else plugins.push({ key, plugin, ...part });
    } catch (thrown) {
      issues.push(loadIssue(key, thrown));
    }
  }
  return { plugins, issues };
}

/** As they were read, where the config has any. */
function optionsRead(
  { plugins: written }: GatewayConfig,
  plugins: readonly CheckedPlugin[],
): GatewayConfig["plugins"] {
  const given = plugins.filter(({ key }) => isPlainObject(written[key]));
  return { ...written, ...Object.fromEntries(given.map((each) => [each.key, each.written])) };
}

const NO_OPTIONS = z.strictObject({});
const BY_DEFAULT: GatewayConfig["plugins"] = Object.fromEntries(
  DEFAULT_PLUGINS.map((key) => [key, {}]),
);
