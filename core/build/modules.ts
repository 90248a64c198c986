import type { BuildParts } from "./build-parts.ts";
import { readFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
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
const CORE = join(MODULES, "core");
const within = (path: string): string => join(CORE, `${path}.${SUFFIX}`);

/** Modules of the core that are another one in a build, by absolute path: their text there. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  [
    within("gateway/check/resolve"),
    `export * from ${quote(within("build/sealed/sealed-plugins"))};`,
  ],
  [within("config/code"), `export * from ${quote(within("build/sealed/sealed-code"))};`],
  [within("kit/version"), `export const VERSION = ${quote(VERSION)};`],
]);

/** Modules that a build does without when nothing in it needs them, by absolute path: whether something does. */
const NEEDED: ReadonlyMap<string, (parts: BuildParts) => boolean> = new Map([
  [within("store/database"), ({ hasTables }) => hasTables],
  [within("store/dry-tables"), ({ hasTables }) => hasTables],
  // Others import the plugin for its service, and it loads its work when it is set up.
  [join(PLUGIN_FOLDER, `agents/team/create-team.${SUFFIX}`), ({ hasAgents }) => hasAgents],
]);

/** An import of the core that waits until it is needed. */
const LATER = /(?<![\w.])import\("(\.[^"]+)"\)/g;

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
  return id.startsWith(ABSENT) ? failing(id.slice(ABSENT.length)) : undefined;
}

function failing(name: string): string {
  const message = `Cannot find package '${name}': it is not in this build.`;
  return `throw Object.assign(new Error(${quote(message)}), { code: "ERR_MODULE_NOT_FOUND" });\n`;
}

/** Whether {@link replacement} may say something of a module. */
export function isReplaceable(id: string): boolean {
  const path = resolve(id);
  return isCore(path) || isCommands(path) || NEEDED.has(path);
}

/**
 * The text that a build has in place of a module. A module that the build does not need fails when it is imported.
 *
 * @param find the parts of the build, when they are asked for
 */
export async function replacement(
  id: string,
  find: () => Promise<BuildParts>,
): Promise<string | undefined> {
  const path = resolve(id);
  const isNeeded = NEEDED.get(path);
  if (isNeeded !== undefined) return isNeeded(await find()) ? undefined : failing(basename(path));
  return isCommands(path) ? "export const commands = {};" : (REPLACED.get(path) ?? atOnce(path));
}

/**
 * A module of the core as it imports at once what it imports when it is needed: a gateway needs most of it, and in one file bundlers
 * make every module a function that is behind such an import. V8 reads those twice.
 */
function atOnce(path: string): string | undefined {
  if (!isCore(path)) return undefined;
  const imports: string[] = [];
  const text = readFileSync(path, "utf8").replaceAll(LATER, (found, to: string) => {
    if (NEEDED.has(resolve(dirname(path), to))) return found;
    const name = `later${imports.length}`;
    imports.push(`import * as ${name} from ${quote(to)};`);
    return `Promise.resolve(${name})`;
  });
  // On the first line, so that the others keep their numbers.
  return imports.length === 0 ? undefined : `${imports.join(" ")} ${text}`;
}

function isCore(path: string): boolean {
  return path.startsWith(CORE + sep) && path.endsWith(`.${SUFFIX}`);
}

/**
 * Whether a module is the commands of a plugin that comes along. A build runs none, and they import core once more, lazily: bundlers
 * make every module a function for it, which costs a seventh of the time until the gateway is ready.
 */
function isCommands(path: string): boolean {
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
