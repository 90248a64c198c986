import type { BuildParts } from "./build-parts.ts";
import { readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { VERSION } from "../kit/version.ts";
import { keyOf } from "./build-key.ts";
import { MODULES, SUFFIX } from "./packages.ts";

/** Module with the plugins of the config, for code that has an entry of its own. */
export const PLUGINS = "virtual:gateway/plugins";
/** Module that runs the gateway: the entry of a build. */
export const SERVER = "virtual:gateway/server";
/** Before the name of a package that a build does without, where the bundler cannot leave its import as it is. */
const ABSENT = "virtual:gateway/absent/";

const PLUGIN_FOLDER = join(MODULES, "plugins");
const within = (path: string): string => join(MODULES, "core", `${path}.${SUFFIX}`);

/** Modules of the core that are another one in a build, by absolute path: their text there. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  [
    within("gateway/check/resolve"),
    `export * from ${quote(within("build/sealed/sealed-plugins"))};`,
  ],
  [within("config/code"), `export * from ${quote(within("build/sealed/sealed-code"))};`],
  [within("kit/version"), `export const VERSION = ${quote(VERSION)};`],
]);

/** The virtual module that an import or entry names; `./` is before it where a bundler takes every entry for a path. */
export function virtualModule(id: string): string | undefined {
  const name = id.replace(/^\.\//, "");
  return name === PLUGINS || name === SERVER ? name : undefined;
}

/** The module in place of a package that a build does without. */
export function absentModule(name: string): string {
  return ABSENT + name;
}

/** The text of {@link absentModule}: it fails as an import of what is not installed does, and only when it is imported. */
export function writeAbsent(id: string): string | undefined {
  if (!id.startsWith(ABSENT)) return undefined;
  const message = `Cannot find package '${id.slice(ABSENT.length)}': it is not in this build.`;
  return `throw Object.assign(new Error(${quote(message)}), { code: "ERR_MODULE_NOT_FOUND" });\n`;
}

/** The text of a module that is another one in a build. */
export function replacement(id: string): string | undefined {
  return isCommands(id) ? "export const commands = {};" : REPLACED.get(resolve(id));
}

/**
 * Whether a module is the commands of a plugin that comes along. A build runs none, and they import core once more, lazily: bundlers
 * make every module a function for it, which costs a seventh of the time until the gateway is ready.
 */
function isCommands(id: string): boolean {
  const path = resolve(id);
  return basename(path) === `commands.${SUFFIX}` && dirname(dirname(path)) === PLUGIN_FOLDER;
}

/**
 * The text of {@link SERVER}. It awaits nothing: Rollup puts what is imported dynamically behind the entry in one file, where it
 * would not be evaluated before the entry is done.
 */
export function writeServer(): string {
  const server = quote(within("cli/built-server"));
  return `import { serve } from ${server};\nvoid serve(process.argv.slice(2), import.meta.url);\n`;
}

/**
 * The text of {@link PLUGINS}: the plugins and files of a gateway as imports. Its keys are paths relative to the folder of the
 * config, because that is how they are looked for when the build runs somewhere else.
 */
export function writeParts(parts: BuildParts): string {
  const folder = dirname(parts.config);
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
