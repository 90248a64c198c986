import { ConfigFile } from "../config/file.ts";
import { findConfig } from "../config/load.ts";
import { maskConfig } from "../config/mask.ts";
import { listOptions } from "../config/options.ts";
import type { CheckedPlugin } from "../config/plugin-module.ts";
import type { PluginComposition } from "../gateway/composition.ts";
import { dryRun } from "../gateway/dry-run.ts";
import { withContainer } from "./container.ts";

/** An option of a plugin with what it is set to. */
export interface OptionInForce {
  /** As in {@link listOptions}. */
  readonly path: string;
  /** What the config says, secrets masked, else the default; `undefined` without either. */
  readonly value: unknown;
  /** Whether the config says it. */
  readonly isSet: boolean;
  readonly description: string | undefined;
}

/** A plugin as part of a gateway, with its options. */
export interface ComposedPlugin extends PluginComposition {
  readonly options: readonly OptionInForce[];
}

/**
 * What the plugins of a config are, set up together without opening anything.
 *
 * @param path default: the config in this folder
 * @throws {GatewayError} whatever is wrong with the config or a plugin
 */
export async function composeConfig(path: string | undefined): Promise<readonly ComposedPlugin[]> {
  const file = new ConfigFile(path ?? findConfig(process.cwd()), { adjust: withContainer });
  const checked = await file.check();
  const gateway = await dryRun(checked, file.cwd);
  try {
    return gateway.composition().map((plugin) => ({
      ...plugin,
      options: optionsInForce(
        checked.plugins.find(({ key }) => key === plugin.key),
        checked.config.secrets,
      ),
    }));
  } finally {
    await gateway.close({ grace: 0 });
  }
}

/** Options without those that are groups of others: what is in them says the same. */
function optionsInForce(
  checked: CheckedPlugin | undefined,
  secrets: ReadonlySet<string>,
): readonly OptionInForce[] {
  const given = maskConfig(checked?.written, secrets);
  const options = listOptions(checked?.plugin.config).filter(
    ({ path }) => !/\[\]|<name>/.test(path),
  );
  const leaves = options.filter(
    ({ path }) => !options.some((other) => other.path.startsWith(`${path}.`)),
  );
  return leaves.map(({ path, default: fallback, description }) => {
    const set = valueAt(given, path.split("."));
    return { path, value: set ?? fallback, isSet: set !== undefined, description };
  });
}

function valueAt(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return valueAt((value as Record<string, unknown>)[key], rest);
}
