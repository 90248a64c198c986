import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import { dropSettings, translateClients } from "./clients.ts";
import { placeIssue, type Config } from "../config/config.ts";
import { loadCode, readCode } from "../config/code.ts";
import { digestOf } from "../kit/digest.ts";
import { parseText, type ConfigText } from "../config/document.ts";
import type { Environment } from "../config/variables.ts";
import { expand, readEnvironment } from "../config/variables.ts";
import { CONFIG_NAMES, isCode, isText } from "../config/file-names.ts";
import type { ConfigIssue, PathIssue } from "../config/issue.ts";
import { invalidConfig } from "../config/issue.ts";
import { checkNames, isPlainObject } from "../config/names.ts";
import { clientKeys, parseValue } from "./parse.ts";
import type { PluginResolver } from "./plugin-module.ts";
import { PluginSource } from "./resolve.ts";

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
}

/** A config that was read from a file. */
export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path. */
  readonly file: string;
  /** Folder of the file; what relative paths in the config start from. */
  readonly cwd: string;
  /** SHA-256 of the content, hex; empty when there is no file. */
  readonly version: string;
  /** The content; absent for a config that is code. */
  readonly text: string | undefined;
  /** Things that were ignored or look wrong, but do no harm. */
  readonly warnings: readonly ConfigIssue[];
}

/**
 * Finds the config in a folder.
 *
 * @throws {GatewayError} `no_config` when there is none
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
 * Loads a config: parses it, fills in variables, translates the blocks of other clients and the sections of plugins, and checks it
 * against the schema. What its parts say of each other is for `check`.
 *
 * YAML and JSON are parsed here rather than by c12, because c12 hands out values without their line and column, concatenates
 * lists of its layers, and downloads and runs what `extends` names; c12 loads code (TypeScript and JavaScript) only.
 *
 * @throws {GatewayError} `invalid` with every problem in `data.issues`; `no_config` when the file is not there; `io_error`
 */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const path = resolve(file);
  const shown = shownName(path);
  const source = await readSource(path, shown, options.text);
  if (source.issues.length > 0) throw invalidConfig(source.issues);
  const cwd = dirname(path);
  const environment = await readEnvironment(join(cwd, ".env"), options.environment ?? process.env);
  const expansion = expand(source.value, environment, options.placeholder);
  const { places } = source;
  const resolver = options.resolver ?? new PluginSource(cwd);
  for (const [at, text] of expansion.expanded) places.expand(at, text);
  const { secrets } = expansion;
  const ignored: PathIssue[] = [];
  const top = dropSettings(topLevel(expansion.value), resolver.names, ignored);
  const adjusted = options.adjust ? options.adjust(top) : top;
  const translated = translateClients(adjusted, places, await clientKeys(adjusted, resolver));
  const found = [...checkNames(source.value), ...expansion.issues, ...translated.issues];
  const warnings = [...ignored, ...translated.warnings].map((issue) =>
    placeIssue(issue, { places, secrets }),
  );
  return {
    config: await parseValue(translated.value, resolver, places, secrets, found),
    file: path,
    cwd,
    version: source.version,
    text: source.text,
    warnings,
  };
}

/**
 * Keys of the plugins that a config switches on, whatever else it says and however wrong that is.
 *
 * @throws {GatewayError} as {@link loadConfig}, for a file that cannot be read or parsed
 */
export async function readPluginKeys(file: string): Promise<readonly string[]> {
  const path = resolve(file);
  const { value, issues } = await readSource(path, shownName(path), undefined);
  if (issues.length > 0) throw invalidConfig(issues);
  const plugins = (value as Record<string, unknown>)["plugins"];
  if (!isPlainObject(plugins)) return [];
  return Object.keys(plugins).filter((key) => plugins[key] !== false);
}

interface Source extends ConfigText {
  readonly version: string;
  readonly text: string | undefined;
}

async function readSource(path: string, shown: string, draft: string | undefined): Promise<Source> {
  if (!isText(path) && !isCode(path)) {
    throw new GatewayError(
      "no_config",
      `${shown} is not a config: its name must end in .yaml, .yml, .json, .ts, .mts or .js.`,
      { hint: "Rename it, or give another path." },
    );
  }
  const bytes = draft === undefined ? await readBytes(path, shown) : Buffer.from(draft);
  const text = isText(path) ? bytes.toString("utf8") : undefined;
  const parsed = text === undefined ? await loadCode(path, shown) : parseText(text, shown);
  const source = { ...parsed, version: digestOf(bytes), text };
  const wrong = source.issues.length === 0 ? topIssue(source.value) : undefined;
  if (!wrong) return source;
  return { ...source, issues: [{ ...wrong, place: { file: shown, line: 1, column: 1 } }] };
}

/** What is wrong with a config as a whole. */
function topIssue(value: unknown): Omit<ConfigIssue, "place"> | undefined {
  if (value === null || value === undefined)
    return {
      message: "The file is empty.",
      hint: 'Start with a server: servers: { search: { url: "https://..." } }.',
    };
  if (isPlainObject(value)) return undefined;
  return {
    message: "The config must be a map of options at its top.",
    hint: "Begin with servers: or another option; see docs/guide/config.md.",
  };
}

async function readBytes(path: string, shown: string): Promise<Buffer> {
  try {
    return await (isText(path) ? readFile(path) : readCode(path));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT")
      throw new GatewayError("no_config", `The config ${shown} does not exist.`, {
        hint: "Check the path.",
        place: { file: shown },
      });
    if (code === "EISDIR")
      throw new GatewayError("no_config", `${shown} is a folder.`, {
        hint: "Give the path of a config file.",
        place: { file: shown },
      });
    throw isGatewayError(error)
      ? error
      : new GatewayError(
          "io_error",
          `The config ${shown} cannot be read (${code ?? "unknown error"}).`,
          { hint: "Check its permissions.", place: { file: shown }, cause: error },
        );
  }
}

/** Drops what is for editors and anchors (`$schema`, `x-...`), and sections whose entries are all commented out. */
function topLevel(value: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value as object).filter(
      ([key, item]) => item !== null && key !== "$schema" && !key.startsWith("x-"),
    ),
  );
}

/** The file as a person would name it: relative to where they are, if it is near. */
function shownName(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") || near === "" ? basename(path) : near;
}
