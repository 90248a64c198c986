import { GatewayError } from "../errors.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";

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
