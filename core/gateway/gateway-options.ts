import type { Config } from "../config/config.ts";
import type { PluginResolver } from "./check/plugin-module.ts";
import type { ConfigSource } from "./check/config-source.ts";
import { PluginSource } from "./check/resolve.ts";
import { GatewayError } from "../kit/errors.ts";
import { comesAlong, isDefault } from "../config/defaults.ts";
import type { Management } from "../plugin/management-service.ts";
import type { Audit } from "../plugin/kernel-services.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import type { Logger } from "pino";
import type { Changing } from "./changes.ts";
import type { Generation } from "./generation.ts";
import type { Seat } from "./seat.ts";

/**
 * What `createGateway` takes besides the config.
 *
 * @example const options: GatewayOptions = { plugins: { greeter }, cwd: import.meta.dirname };
 */
export interface GatewayOptions {
  /** Plugins at hand, by their key in the config's `plugins`; looked at before {@link resolvePlugin}. */
  readonly plugins?: Readonly<Record<string, AnyPlugin>>;
  /** Directory that relative paths in the config start from; default: the process's own. */
  readonly cwd?: string;
  /** Default: made from the config's `log`. */
  readonly log?: Logger;
  /** Finds the plugin of a key that {@link plugins} lacks, e.g. by importing a file. */
  readonly resolvePlugin?: (key: string) => Promise<AnyPlugin>;
  /** The file that the config was loaded from: it is read again on reload, edited, and finds plugins. See `createFileGateway`. */
  readonly file?: ConfigSource;
  /** Only sets it up to be looked at; see `GatewayInfo.dryRun`. Default: false. */
  readonly dryRun?: boolean;
}

/** What `propylon start` gives besides, in a worker. */
export interface StartedWith extends GatewayOptions {
  /** Its place among the workers; absent: it is alone. */
  readonly seat?: Seat;
}

/** What a gateway is made with. */
export interface Assembled extends StartedWith {
  readonly services: UpperServices;
}

/** Services that stand above a gateway. What puts it together gives them, and each is loaded for the first plugin that asks. */
export interface UpperServices {
  management(gateway: Managed): Promise<Management>;
  audit(gateway: Managed, plugin: string): Promise<Audit>;
}

/** What the services above a gateway reach of it: always the current generation. */
export interface Managed extends Changing {
  readonly generations: readonly Generation[];
  readonly evict: Management["evict"];
}

/** Folder that relative paths in the config start from. */
export function cwdOf({ cwd, file }: GatewayOptions): string {
  return cwd ?? file?.cwd ?? process.cwd();
}

/**
 * A gateway that a program makes is one process.
 *
 * @throws {GatewayError} `invalid` for a config with several
 */
export function checkAlone(config: Config, { seat, dryRun }: StartedWith): void {
  if (seat || dryRun === true || config.values.workers === 1) return;
  const { place } = config.place({ path: ["workers"], message: "", hint: "" });
  throw new GatewayError("invalid", "A gateway inside a program has no workers.", {
    ...(place && { place }),
    hint: "Leave workers out, or run the config with propylon start.",
  });
}

export function createResolver(options: GatewayOptions): PluginResolver {
  const { plugins, resolvePlugin, file } = options;
  const comingAlong = new Map<string, Promise<AnyPlugin>>();
  const comeAlong = (key: string): Promise<AnyPlugin> => {
    const found = comingAlong.get(key) ?? new PluginSource(cwdOf(options)).resolve(key);
    comingAlong.set(key, found);
    return found;
  };
  return findAtHand(plugins, {
    names: file?.plugins.names ?? [],
    resolve(key) {
      if (!file && isDefault(key)) return comeAlong(key);
      if (resolvePlugin) return resolvePlugin(key);
      if (file) return file.plugins.resolve(key);
      if (comesAlong(key)) return comeAlong(key);
      throw new GatewayError("not_found", `There is no plugin "${key}".`, {
        data: { path: `plugins.${key}` },
      });
    },
  });
}

/** Finds plugins at hand, by their key, before those that another resolver finds. */
export function findAtHand(
  plugins: Readonly<Record<string, AnyPlugin>> = {},
  others: PluginResolver,
): PluginResolver {
  return {
    names: [...Object.keys(plugins), ...others.names],
    resolve: (key) =>
      (Object.hasOwn(plugins, key) ? plugins[key] : undefined) ?? others.resolve(key),
  };
}
