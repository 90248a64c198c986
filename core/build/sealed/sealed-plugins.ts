import { plugins } from "virtual:gateway/plugins";
import { pluginOf, type PluginResolver } from "../../gateway/check/plugin-module.ts";
import { GatewayError } from "../../kit/errors.ts";
import { isDefault } from "../../config/defaults.ts";

/** In place of core/gateway/check/resolve.ts in a build: the plugins are those that it was made with. */
class SealedPlugins implements PluginResolver {
  readonly names = Object.keys(plugins).filter((name) => !isDefault(name));
  /** None is read from disk. */
  readonly files: readonly string[] = [];
  /** Nor is any package installed again under a build. */
  readonly replaced: readonly string[] = [];

  /** @throws {GatewayError} `not_found` for a plugin that is not in the build */
  resolve(key: string) {
    if (Object.hasOwn(plugins, key)) return Promise.resolve(pluginOf(key, { ...plugins[key] }));
    throw new GatewayError("not_found", `The plugin "${key}" is not in this build.`, {
      hint: `Run propylon build again with this config. This build has ${this.names.length === 0 ? "no plugin" : `only: ${this.names.join(", ")}`}.`,
    });
  }
}

export { SealedPlugins as PluginSource };
