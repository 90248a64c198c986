import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A build, as far as optional packages go. */
interface Packaged {
  /** Folders of plugins that say which optional packages they import, and those packages. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
}

/** What is asked of a package's `package.json`. */
interface Manifest {
  readonly name?: string;
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const own = fileURLToPath(import.meta.url);
/** `.ts` in the sources, `.js` in the package. */
export const SUFFIX = own.endsWith(".ts") ? "ts" : "js";

const manifestFile = createRequire(import.meta.url).resolve("propylon/package.json");
const root = dirname(manifestFile);
const { exports = {} } = readManifest(root)!;
/** Below it each module is a file of its own, which a build may leave out or replace. What Node runs are fewer files. */
export const MODULES = SUFFIX === "ts" ? root : join(root, "dist/modules");

/** Path inside `node_modules`. */
const INSTALLED = `${sep}node_modules${sep}`;

/** Where an import leads, when it is not left to the bundler. */
export interface Target {
  /** A file, or the import as written where it stays one. */
  readonly path: string;
  readonly external: boolean;
}

/**
 * Decides on an import of a package.
 *
 * @param importer absolute path of the file that imports; `undefined` for an entry
 * @param find what the build is of; asked only for optional packages
 * @returns `undefined` = the bundler goes its usual way
 */
export async function resolvePackage(
  id: string,
  importer: string | undefined,
  find: () => Promise<Packaged>,
): Promise<Target | undefined> {
  const file = publicFile(id) ?? lent(id, importer);
  if (file !== undefined) return { path: file, external: false };
  const name = packageName(id);
  if (importer === undefined || name === undefined || !isOptional(name, importer)) return undefined;
  const isHeld = isInstalled(name, importer) && isWanted(name, importer, await find());
  return isHeld ? undefined : { path: id, external: true };
}

/** The file behind a public name of Propylon, wherever it is imported: two copies would have two of every class. */
export function publicFile(id: string): string | undefined {
  if (id !== "propylon" && !id.startsWith("propylon/")) return undefined;
  const entry = exports[`.${id.slice("propylon".length)}`];
  if (entry === undefined || typeof entry === "string") return undefined;
  const source = entry["@propylon/source"]!;
  return join(MODULES, source.replace(/ts$/, SUFFIX));
}

/** Whether a package can be found from a file. */
export function isInstalled(name: string, from: string): boolean {
  const folders = createRequire(from).resolve.paths(name) ?? [];
  return folders.some((folder) => existsSync(join(folder, name, "package.json")));
}

/** Files beside a config may import zod and prom-client without having them, as when they are not built (see `importCode`). */
function lent(id: string, importer: string | undefined): string | undefined {
  if (id !== "zod" && id !== "prom-client") return undefined;
  // A package has its own, which may be another version.
  if (importer !== undefined && importer.includes(INSTALLED)) return undefined;
  return fileURLToPath(import.meta.resolve(id));
}

/** `@scope/name` or `name`; `undefined` for a path, a builtin or a module of a bundler. */
function packageName(id: string): string | undefined {
  return /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*(?=\/|$)/.exec(id)?.[0];
}

/** Whether the package of a file can do without another: it tries the import, and says itself what is missing. */
function isOptional(name: string, importer: string): boolean {
  const manifest = manifestOf(dirname(importer));
  return (
    manifest?.peerDependenciesMeta?.[name]?.optional === true ||
    Object.hasOwn(manifest?.optionalDependencies ?? {}, name)
  );
}

/** Whether the plugin that a file belongs to imports the package with its present options. */
function isWanted(name: string, importer: string, { packages }: Packaged): boolean {
  const owner = [...packages].find(([folder]) => importer.startsWith(folder + sep));
  return owner === undefined || owner[1].includes(name);
}

const manifests = new Map<string, Manifest | undefined>();

/** The `package.json` with a name that is nearest above; `dist` may have one that only says what its files are. */
function manifestOf(folder: string): Manifest | undefined {
  if (manifests.has(folder)) return manifests.get(folder);
  const here = readManifest(folder);
  const above = dirname(folder);
  const found = here?.name !== undefined || above === folder ? here : manifestOf(above);
  manifests.set(folder, found);
  return found;
}

function readManifest(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return undefined;
  }
}
