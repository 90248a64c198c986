import { GatewayError, isGatewayError, toGatewayError } from "../../kit/errors.ts";
import { isDefault } from "../../config/defaults.ts";
import type { AnyPlugin } from "../../plugin/plugin.ts";
import type { PathIssue } from "../../config/issue.ts";
import type { PluginNeeds } from "../../plugin/definitions.ts";

/** Finds the plugins of a config. */
export interface PluginResolver {
  /** Names of those that are there without being installed: they are at hand, or come along. */
  readonly names: readonly string[];
  /** The plugin that a key of the config's `plugins` stands for. */
  resolve(key: string): AnyPlugin | Promise<AnyPlugin>;
}

/** A plugin of a config. */
export interface CheckedPlugin {
  readonly key: string;
  readonly plugin: AnyPlugin;
  /** As the config has them. */
  readonly written: Readonly<Record<string, unknown>>;
  /** As the plugin's schema made them. */
  readonly options: unknown;
  readonly needs: PluginNeeds;
}

/**
 * The plugin that a module exports by default.
 *
 * @param key its key in the config, to name it
 * @throws {GatewayError} `invalid` when there is none
 */
export function pluginOf(key: string, module: Record<string, unknown>): AnyPlugin {
  const found = module["default"];
  if (isPlugin(found)) return found;
  const problem =
    found === undefined ? "has no default export" : "does not export a plugin by default";
  throw new GatewayError("invalid", `The plugin ${key} ${problem}.`, {
    hint: 'Write export default definePlugin({ name: "...", setup(gateway) { ... } }).',
  });
}

function isPlugin(value: unknown): value is AnyPlugin {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "setup" in value &&
    typeof value.setup === "function"
  );
}

/** Why there is no plugin behind a key of a config. */
export function loadIssue(key: string, thrown: unknown): PathIssue {
  const at = { path: ["plugins", key], at: "key" as const };
  const { message, hint } = toGatewayError(thrown);
  if (isGatewayError(thrown))
    return { ...at, message, hint: hint ?? "See docs/guide/write-a-plugin.md." };
  const reason = thrown instanceof Error ? thrown.message.split("\n")[0]! : String(thrown);
  return {
    ...at,
    message: `The plugin ${key} cannot be loaded: ${reason.replace(/[.\s]+$/, "")}.`,
    hint: isDefault(key)
      ? "It comes with Propylon. A bundle of your own must hand it over, see docs/guide/build.md."
      : "Correct it; its own tests show more.",
  };
}
