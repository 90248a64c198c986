import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "../version.ts";

/** Module with the plugins of the config, for whoever writes an entry of their own. */
export const PLUGINS = "virtual:gateway/plugins";
/** Module that runs the gateway: the entry of a build. */
export const SERVER = "virtual:gateway/server";

const own = fileURLToPath(import.meta.url);
/** `.ts` in the sources, `.js` in the package. */
const suffix = own.endsWith(".ts") ? "ts" : "js";
const core = resolve(dirname(own), "..");
const within = (path: string): string => join(core, `${path}.${suffix}`);

/** Modules of the core that are another one in a build, by absolute path: their text there. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  [within("config/resolve"), `export * from ${JSON.stringify(within("build/sealed/resolve"))};`],
  [within("config/code"), `export * from ${JSON.stringify(within("build/sealed/code"))};`],
  [within("version"), `export const VERSION = ${JSON.stringify(VERSION)};`],
]);

/** What packages try to import and can do without. */
const TRIED: ReadonlySet<string> = new Set(["bufferutil", "utf-8-validate"]);

const manifestFile = createRequire(import.meta.url).resolve("propylon/package.json");
const root = dirname(manifestFile);
const { exports, peerDependencies } = JSON.parse(readFileSync(manifestFile, "utf8")) as {
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** The text of a module that is another one in a build. */
export function replacement(id: string): string | undefined {
  return REPLACED.get(resolve(id));
}

/** The text of {@link SERVER}. */
export function writeServer(): string {
  const server = JSON.stringify(within("build/server"));
  return `import { serve } from ${server};\nawait serve(process.argv.slice(2), import.meta.url);\n`;
}

/**
 * The file behind a public name of Propylon, wherever it is imported: two copies would have two of every class. Files beside a
 * config may import zod and prom-client without having them installed, as when they are not built (see `importCode`).
 */
export function ownModule(id: string): string | undefined {
  if (id === "zod" || id === "prom-client") return fileURLToPath(import.meta.resolve(id));
  if (id !== "propylon" && !id.startsWith("propylon/")) return undefined;
  const entry = exports[`.${id.slice("propylon".length)}`];
  if (entry === undefined || typeof entry === "string") return undefined;
  return join(root, suffix === "ts" ? entry["@propylon/source"]! : entry["default"]!);
}

/** Whether a package is optional and not installed: it stays an import, missed by name only when it is needed. */
export function isMissingPeer(id: string): boolean {
  const name = id.startsWith("@") ? id.split("/").slice(0, 2).join("/") : id.split("/")[0]!;
  return (Object.hasOwn(peerDependencies, name) || TRIED.has(name)) && !isInstalled(name);
}

function isInstalled(name: string): boolean {
  const folders = [process.cwd(), root].flatMap(
    (folder) => createRequire(join(folder, "package.json")).resolve.paths(name) ?? [],
  );
  return folders.some((folder) => existsSync(join(folder, name, "package.json")));
}
