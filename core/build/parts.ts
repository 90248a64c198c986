import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join, resolve } from "node:path";
import { isLocalPlugin } from "../config/checks.ts";
import { findConfig, loadConfig, type LoadedConfig } from "../config/load.ts";
import { requirePlugins } from "../config/plugins.ts";
import { FIRST_PARTY, PluginSource } from "../config/resolve.ts";
import { rehearse } from "../rehearsal.ts";
import { keyOf } from "./key.ts";

/** Stands for variables that are not set while building: long enough to pass for a key. */
const UNSET = "not-set-while-building-not-set-while-building";

const CODE_CONFIG = /^\.[cm]?[jt]s$/;

/** What goes into a build of a gateway. */
export interface GatewayParts {
  /** Absolute path of the config. */
  readonly config: string;
  /** Whether the config is code, and so part of the build. */
  readonly isCode: boolean;
  /** Keys of the config's `plugins` that are on, and what to import for each: a public name, or an absolute path. */
  readonly plugins: ReadonlyMap<string, string>;
  /** Modules and texts that plugins read beside the config: absolute paths. */
  readonly code: readonly string[];
  readonly texts: readonly string[];
  /** Every file that a change of would change the build, for builders that watch. */
  readonly files: readonly string[];
}

/**
 * Finds out what a gateway is made of, by setting it up without opening anything.
 *
 * @param file config; default: the one in this folder
 * @throws {GatewayError} whatever is wrong with the config or a plugin, with its place: a wrong config fails the build
 */
export async function findParts(file?: string): Promise<GatewayParts> {
  const path = resolve(file ?? findConfig(process.cwd()));
  const loaded = await loadConfig(path, { placeholder: UNSET });
  const source = new PluginSource(loaded.cwd);
  await requirePlugins(loaded, source);
  const gateway = await rehearse(loaded, source);
  const { code, texts } = gateway.sources;
  await gateway.close({ grace: 0 });
  return {
    config: path,
    isCode: CODE_CONFIG.test(extname(path)),
    plugins: pluginImports(loaded),
    code: [...new Set(code)],
    texts: [...new Set(texts)],
    files: [path, ...source.files, ...code, ...texts],
  };
}

function pluginImports({ config, cwd }: LoadedConfig): ReadonlyMap<string, string> {
  const used = Object.entries(config.plugins).filter(([, options]) => options !== false);
  return new Map(used.map(([key]) => [key, importOf(key, cwd)]));
}

function importOf(key: string, cwd: string): string {
  if (isLocalPlugin(key)) return resolve(cwd, key);
  if (Object.hasOwn(FIRST_PARTY, key)) return `propylon/plugins/${key}`;
  return createRequire(join(cwd, "package.json")).resolve(key);
}

/**
 * The text of `virtual:gateway/plugins`: the plugins and files of a gateway as imports. Paths are those relative to the folder
 * of the config, because that is how they are looked for when the build runs somewhere else.
 */
export function writeParts(parts: GatewayParts): string {
  const folder = resolve(parts.config, "..");
  const plugins = [...parts.plugins].map(([key, from]) => ({ key, from }));
  const code = [...parts.code, ...(parts.isCode ? [parts.config] : [])];
  const lines = [
    ...plugins.map(({ from }, index) => `import * as plugin${index} from ${quote(from)};`),
    ...code.map((from, index) => `import * as code${index} from ${quote(from)};`),
    `export const plugins = ${record(plugins.map(({ key }, index) => [key, `plugin${index}`]))};`,
    `export const code = ${record(code.map((from, index) => [keyOf(folder, from), `code${index}`]))};`,
    `export const texts = ${record(parts.texts.map((from) => [keyOf(folder, from), quote(readFileSync(from, "utf8"))]))};`,
  ];
  return `${lines.join("\n")}\n`;
}

function record(entries: readonly (readonly [string, string])[]): string {
  return `{ ${entries.map(([key, value]) => `${quote(key)}: ${value}`).join(", ")} }`;
}

function quote(text: string): string {
  return JSON.stringify(text);
}
