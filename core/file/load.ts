import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { GatewayError } from "../kit/errors.ts";
import { dropSettings, translateClients } from "../gateway/check/clients.ts";
import { placeIssue, type Config } from "../config/config.ts";
import { type Environment, environmentName, expand, readEnvironment } from "../config/variables.ts";
import { CONFIG_NAMES } from "./file-names.ts";
import type { ConfigIssue, PathIssue } from "../config/issue.ts";
import { checkNames, clientKeys, parseValue } from "../gateway/check/parse.ts";
import { isPlainObject } from "../kit/json.ts";
import { readLayers, type LayeredText } from "./layers.ts";
import type { PluginResolver } from "../gateway/check/plugin-module.ts";
import { PluginSource } from "../gateway/check/resolve.ts";

/** How to load; everything has a default. */
export interface LoadOptions {
  /** Default: that of the process. */
  readonly environment?: Environment;
  /** Finds the plugins that claim sections of the config; default: those that its folder has. */
  readonly resolver?: PluginResolver;
  /** Changes the value before it is checked, e.g. for command line flags that override the file. */
  adjust?(value: Record<string, unknown>): Record<string, unknown>;
  /** What to check in place of the content of the file: an edit that is not written yet. YAML and JSON only. */
  readonly text?: string;
  /**
   * What stands for variables that are set nowhere, in a build: they are set when it runs. Asked with the path text of the string
   * they stand in. Default: each is a problem.
   */
  readonly placeholder?: (path: string) => string;
  /** Gets every file of the config that is looked for, also where the load fails. */
  readonly files?: Set<string>;
}

/** A config that was read from a file. */
export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path. */
  readonly file: string;
  /** Folder of the file; what relative paths in the config start from, those in its layers too. */
  readonly cwd: string;
  /** SHA-256 of the content of the file, hex; empty when there is no file. */
  readonly version: string;
  /** The content; absent for a config that is code. */
  readonly text: string | undefined;
  /** The files below the first one, absolute. Those that a module imports are not among them. */
  readonly layers: readonly string[];
  /** Things that were ignored or look wrong, but do no harm. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Finds the config in a folder.
 *
 * @throws {GatewayError} `no_config` if the folder has no config
 */
export function findConfig(folder: string): string {
  const found = CONFIG_NAMES.map((name) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined)
    throw new GatewayError("no_config", `There is no ${CONFIG_NAMES[0]} in this folder.`, {
      hint: "Make a project with npm create gateway@latest, or give the path of a config.",
    });
  return found;
}

/**
 * Loads a config: reads its layers, fills in variables, translates the blocks of other clients and the sections of plugins, and checks
 * it against the schema. What its parts say of each other is for `check`.
 *
 * @throws {GatewayError} `invalid` with every problem in `data.issues`; `no_config` when the file is not there; `io_error`
 */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const path = resolve(file);
  const cwd = dirname(path);
  const source = await readMerged(path, options);
  const { places, environment } = source;
  const expansion = expand(source.value, environment, options.placeholder);
  const resolver = options.resolver ?? new PluginSource(cwd);
  for (const [at, text] of expansion.expanded) places.expand(at, text);
  const secrets = new Set([...source.secrets, ...expansion.secrets]);
  const ignored: PathIssue[] = [];
  const top = dropSettings(topLevel(expansion.value), resolver.names, ignored);
  const adjusted = options.adjust ? options.adjust(top) : top;
  const translated = translateClients(adjusted, places, await clientKeys(adjusted, resolver));
  const found = [...checkNames(source.value), ...expansion.issues, ...translated.issues];
  const warned = [...ignored, ...translated.warnings].map((issue) =>
    placeIssue(issue, { places, secrets }),
  );
  return {
    config: await parseValue(translated.value, resolver, places, secrets, found),
    file: path,
    cwd,
    version: source.version,
    text: source.text,
    layers: source.layers,
    warnings: [...source.warnings, ...warned],
  };
}

/**
 * Reads a config with its layers, before variables are filled in.
 *
 * @param path absolute
 * @param how.name in place of the environment that `NODE_ENV` names; `null`: none
 * @throws {GatewayError} as {@link readLayers}
 */
export async function readMerged(
  path: string,
  {
    environment: real = process.env,
    text,
    files,
    name,
  }: Pick<LoadOptions, "environment" | "text" | "files"> & { readonly name?: string | null },
): Promise<LayeredText & { readonly environment: Environment }> {
  const environment = await readEnvironment(dirname(path), real);
  const used = name === undefined ? environmentName(real) : (name ?? undefined);
  const source = await readLayers(path, { environment, name: used, text, files });
  return { ...source, environment };
}

/**
 * Keys of the plugins that a config switches on, whatever else it says and however wrong that is.
 *
 * @throws {GatewayError} as {@link loadConfig}, for a file that cannot be read or parsed
 */
export async function readPluginKeys(file: string): Promise<readonly string[]> {
  const path = resolve(file);
  const { value } = await readMerged(path, {});
  const plugins = (value as Record<string, unknown>)["plugins"];
  if (!isPlainObject(plugins)) return [];
  return Object.keys(plugins).filter((key) => plugins[key] !== false);
}

/** Drops what is for editors and anchors (`$schema`, `x-...`), and sections whose entries are all commented out. */
function topLevel(value: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value as object).filter(
      ([key, item]) => item !== null && key !== "$schema" && !key.startsWith("x-"),
    ),
  );
}
