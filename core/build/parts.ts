import { createRequire } from "node:module";
import { dirname, extname, join, resolve } from "node:path";
import { isLocalPlugin } from "../config/checks.ts";
import { withContainer } from "../cli/container.ts";
import { findConfig, loadConfig, type LoadedConfig } from "../config/load.ts";
import { requirePlugins } from "../config/plugins.ts";
import { FIRST_PARTY } from "../config/first-party.ts";
import { PluginSource } from "../config/resolve.ts";
import { GatewayError, isGatewayError } from "../errors.ts";
import { dryRun } from "../gateway/dry-run.ts";
import { isInstalled, publicFile } from "./packages.ts";
import { Placeholders } from "./placeholders.ts";

/** What goes into a build of a gateway. */
export interface GatewayParts {
  /** Absolute path of the config. */
  readonly config: string;
  /** Whether the config is code, and so part of the build. */
  readonly isCode: boolean;
  /** Keys of the config's `plugins` that are on, and the file that each is in: an absolute path. */
  readonly plugins: ReadonlyMap<string, string>;
  /** Folders of plugins that say which optional packages they import, and those packages. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
  /** Modules and texts that plugins read beside the config: absolute paths. */
  readonly code: readonly string[];
  readonly texts: readonly string[];
  /** Every file that a change of would change the build, for builders that watch. */
  readonly files: readonly string[];
}

const CODE_CONFIG = /^\.[cm]?[jt]s$/;

/**
 * Finds out what a gateway is made of, by setting it up without opening anything.
 *
 * @param file config; default: the one in this folder
 * @throws {GatewayError} whatever is wrong with the config or a plugin, with its place: a wrong config fails the build;
 * `not_found` when a package that a plugin needs is not installed
 */
export async function findParts(file?: string): Promise<GatewayParts> {
  const path = resolve(file ?? findConfig(process.cwd()));
  const source = new PluginSource(dirname(path));
  const loaded = await load(path, source);
  const gateway = await dryRun(loaded, source);
  const { code, texts } = gateway.sources;
  await gateway.close({ grace: 0 });
  const plugins = pluginFiles(loaded);
  return {
    config: path,
    isCode: CODE_CONFIG.test(extname(path)),
    plugins,
    packages: await findPackages(loaded, source, plugins),
    code: [...new Set(code)],
    texts: [...new Set(texts)],
    files: [path, ...source.files, ...code, ...texts],
  };
}

/** The config as it would be where it runs, as far as that is known. */
async function load(path: string, source: PluginSource): Promise<LoadedConfig> {
  const placeholders = new Placeholders();
  for (;;) {
    try {
      const loaded = await loadConfig(path, {
        adjust: withContainer,
        placeholder: (at) => placeholders.at(at),
      });
      await requirePlugins(loaded, source);
      return loaded;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      if (!placeholders.change(error)) throw placeholders.explain(error);
    }
  }
}

function pluginFiles({ config, cwd }: LoadedConfig): ReadonlyMap<string, string> {
  const used = Object.entries(config.plugins).filter(([, options]) => options !== false);
  return new Map(used.map(([key]) => [key, fileOf(key, cwd)]));
}

function fileOf(key: string, cwd: string): string {
  if (isLocalPlugin(key)) return resolve(cwd, key);
  if (FIRST_PARTY.includes(key)) return firstParty(key);
  return createRequire(join(cwd, "package.json")).resolve(key);
}

function firstParty(name: string): string {
  return publicFile(`propylon/plugins/${name}`)!;
}

/** A plugin that is off may still lend a type or a function to another; it imports no package then. */
async function findPackages(
  { config }: LoadedConfig,
  source: PluginSource,
  plugins: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const off = FIRST_PARTY.filter((name) => !plugins.has(name));
  const found = new Map<string, readonly string[]>(
    off.map((name) => [dirname(firstParty(name)), []]),
  );
  for (const [key, file] of plugins) {
    const plugin = await source.resolve(key);
    const written = config.plugins[key];
    const options = typeof written === "object" && written ? written : {};
    const names = plugin.packages?.(plugin.config?.parse(options));
    if (names === undefined) continue;
    requirePackages(key, names, file);
    found.set(dirname(file), names);
  }
  return found;
}

function requirePackages(key: string, names: readonly string[], file: string): void {
  const missing = names.filter((name) => !isInstalled(name, file));
  if (missing.length === 0) return;
  throw new GatewayError(
    "not_found",
    `The plugin ${key} needs with these options what is not installed: ${missing.join(", ")}.`,
    { hint: `Run npm install ${missing.join(" ")}, then build again.` },
  );
}
