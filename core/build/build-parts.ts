import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { isLocalPlugin } from "../gateway/check/checks.ts";
import { withContainer } from "../file/container.ts";
import { findConfig, loadConfig } from "../file/load.ts";
import { check, type CheckedConfig } from "../gateway/check/check.ts";
import { isCode, isText } from "../file/file-names.ts";
import { FIRST_PARTY } from "../gateway/check/first-party.ts";
import { PluginSource } from "../gateway/check/resolve.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import { dryRun } from "../gateway/management/dry-run.ts";
import { isInstalled, publicFile } from "./packages.ts";
import { Placeholders } from "./placeholders.ts";

/** What goes into a build of a gateway. */
export interface BuildParts {
  /** Absolute path of the config. */
  readonly config: string;
  /** Whether the config is code, and so part of the build. */
  readonly isCode: boolean;
  /** Keys of the config's `plugins` that are on, and the file that each is in: an absolute path. */
  readonly plugins: ReadonlyMap<string, string>;
  /** Whether one of them brings a store that holds tables. */
  readonly hasTables: boolean;
  /** Whether one of them hosts agents: a module beside the config may hand on the plugin that does, under another key. */
  readonly hasAgents: boolean;
  /** Folders of plugins that say which optional packages they import, and those packages. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
  /** Layers of the config, and modules and texts that plugins read beside it: absolute paths. */
  readonly code: readonly string[];
  readonly texts: readonly string[];
  /** Every file that a change of would change the build, for builders that watch. */
  readonly files: readonly string[];
}

/**
 * Finds out what a gateway is made of, by setting it up without opening anything.
 *
 * @param file config; default: the one in this folder
 * @throws {GatewayError} whatever is wrong with the config or a plugin, with its place: a wrong config fails the build;
 * `not_found` when a package that a plugin needs is not installed
 */
export async function findParts(file?: string): Promise<BuildParts> {
  const path = resolve(file ?? findConfig(process.cwd()));
  const source = new PluginSource(dirname(path));
  const { checked, layers } = await load(path, source);
  const gateway = await dryRun(checked, dirname(path));
  const { code, texts } = gateway.sources;
  await gateway.close({ grace: 0 });
  const plugins = pluginFiles(checked, dirname(path));
  return {
    config: path,
    isCode: isCode(path),
    plugins,
    hasTables: checked.plugins.some(({ plugin }) => bringsTables(plugin)),
    hasAgents: checked.plugins.some(({ plugin }) => hostsAgents(plugin)),
    packages: findPackages(checked, plugins),
    code: [...new Set([...code, ...layers.filter(isCode)])],
    texts: [...new Set([...texts, ...layers.filter(isText)])],
    files: [path, ...layers, ...source.files, ...code, ...texts],
  };
}

/** The config as it would be where it runs, as far as that is known. */
async function load(
  path: string,
  source: PluginSource,
): Promise<{ readonly checked: CheckedConfig; readonly layers: readonly string[] }> {
  const placeholders = new Placeholders();
  for (;;) {
    try {
      const { config, layers } = await loadConfig(path, {
        resolver: source,
        adjust: withContainer,
        placeholder: (at) => placeholders.at(at),
      });
      return { checked: await check(config, source), layers };
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      if (!placeholders.change(error)) throw placeholders.explain(error);
    }
  }
}

function pluginFiles({ plugins }: CheckedConfig, cwd: string): ReadonlyMap<string, string> {
  return new Map(plugins.map(({ key }) => [key, fileOf(key, cwd)]));
}

function bringsTables({ stores = {} }: CheckedConfig["plugins"][number]["plugin"]): boolean {
  return Object.values(stores).some(({ abilities }) => abilities?.includes("tables"));
}

/** By the section of the config that is its own: its name may be another where it is handed on. */
function hostsAgents({ section }: CheckedConfig["plugins"][number]["plugin"]): boolean {
  return (typeof section === "string" ? section : section?.key) === "agents";
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
function findPackages(
  { plugins }: CheckedConfig,
  files: ReadonlyMap<string, string>,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const { key, needs } of plugins) {
    const file = files.get(key)!;
    const names = needs.packages;
    if (names === undefined) continue;
    requirePackages(key, names, file);
    found.set(dirname(file), names);
  }
  // A plugin in use may import what another one brings, as sidecar does with nats: with the packages that it says itself.
  const all = [...new Set([...found.values()].flat())];
  for (const name of FIRST_PARTY) if (!files.has(name)) found.set(dirname(firstParty(name)), all);
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
