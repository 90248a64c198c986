import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { fitCluster } from "./cluster.ts";
import { isMap } from "./entry.ts";
import { makeEnvironment, makeExample } from "./environment.ts";
import { Failure } from "./failure.ts";
import type { ProjectFile } from "./file.ts";
import { importServers, type Imported } from "./servers.ts";
import type { Source } from "./source.ts";
import { fitStore } from "./store.ts";
import type { Extra, Template } from "./template.ts";
import { fitWorkers } from "./workers.ts";

/** What a project is made from. */
export interface ProjectSettings {
  /** Absolute path. */
  readonly directory: string;
  readonly name: string;
  readonly template: Template;
  readonly extras: readonly Extra[];
  readonly production: boolean;
  /** Files whose servers are taken over. */
  readonly imports: readonly string[];
  readonly propylon: Source;
}

/** All that is to be written, and said. */
export interface Project {
  readonly files: readonly ProjectFile[];
  /** Names of the servers that were taken over. */
  readonly imported: readonly string[];
  /** Variables in `.env` that only the user can fill in. */
  readonly blanks: readonly string[];
  readonly notes: readonly string[];
  /** Services of compose.yaml that it does not start without. */
  readonly services: readonly string[];
}

/** Name that every template has, to be replaced by that of the project. */
const NAME = "my-gateway";

/** Files that belong to an extra. */
const EXTRA_FILES: Readonly<Record<Extra, (path: string) => boolean>> = {
  docker: (path) => path === "Dockerfile" || path === ".dockerignore",
  compose: (path) => path === "compose.yaml",
  kubernetes: (path) => path.startsWith("deploy/"),
  postgres: () => false,
  workers: () => false,
  cluster: () => false,
};

/** What comes along: Compose and Kubernetes run an image, which somebody has to build, and Compose runs the database. */
const IMPLIED: Readonly<Partial<Record<Extra, readonly Extra[]>>> = {
  postgres: ["compose"],
  cluster: ["compose", "kubernetes"],
};

/** A project in memory: nothing is written unless everything can be. */
export function makeProject(root: string, settings: ProjectSettings): Project {
  const isCluster = settings.extras.includes("cluster");
  const usesPostgres = isCluster || settings.extras.includes("postgres");
  const own = readTemplate(root, settings);
  const shared = settings.extras.includes("workers") ? fitWorkers(own) : own;
  const single = fitStore(shared, usesPostgres);
  const template = isCluster ? fitCluster(single, readTree(join(root, "cluster"))) : single;
  const imported = importServers(settings.imports, surroundings(template, settings));
  const made = template.map((file) => ({ ...file, content: fill(file, settings, imported) }));
  const { files, blanks } = environment(template, settings, imported);
  const all = [...made, ...files, ...settings.propylon.files].toSorted((left, right) =>
    left.path < right.path ? -1 : 1,
  );
  const services = usesPostgres ? ["postgres"] : [];
  return { files: all, imported: imported.names, blanks, notes: imported.notes, services };
}

/** What gateways share is useless to a package; a template's own file takes the place of the shared one. */
function readTemplate(root: string, { template, extras }: ProjectSettings): readonly ProjectFile[] {
  const folders = template.name === "plugin" ? ["plugin"] : ["shared", template.name];
  const files = folders.flatMap((folder) => readTree(join(root, folder)));
  const wanted = new Map(files.map((file) => [file.path, file]));
  const implied = extras.flatMap((extra) => ["docker" as const, ...(IMPLIED[extra] ?? [])]);
  const chosen = new Set<Extra>([...implied, ...extras]);
  return [...wanted.values()].filter(({ path }) =>
    (Object.keys(EXTRA_FILES) as Extra[]).every(
      (extra) => chosen.has(extra) || !EXTRA_FILES[extra](path),
    ),
  );
}

/** npm packs neither .gitignore nor .npmrc, so files that begin with a dot begin with an underscore in the templates. */
function readTree(folder: string, prefix = ""): readonly ProjectFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const from = join(folder, entry.name);
    const path = `${prefix}${entry.name.replace(/^_/, ".")}`;
    if (entry.name === "node_modules") return [];
    if (entry.isDirectory()) return readTree(from, `${path}/`);
    const mode = statSync(from).mode & 0o111 ? 0o755 : 0o644;
    return [{ path, content: readFileSync(from), mode }];
  });
}

function textOf(files: readonly ProjectFile[], path: string): string {
  return files.find((file) => file.path === path)?.content.toString("utf8") ?? "";
}

/** What the template has that servers which are taken over must not collide with. */
function surroundings(template: readonly ProjectFile[], { directory }: ProjectSettings) {
  const [config, example] = [textOf(template, "gateway.yaml"), textOf(template, ".env.example")];
  const top = (parse(config) ?? {}) as Record<string, unknown>;
  const keys = ["servers", "mcpServers", "agents", "plugins"].flatMap((section) =>
    isMap(top[section]) ? Object.keys(top[section]) : [],
  );
  return {
    directory,
    environment: process.env,
    // A plugin in a file goes by the name of the file, as far as anybody can tell without running it.
    servers: new Set(keys.map((key) => key.replace(/^.*\/|\.\w+$/g, ""))),
    taken: new Set(`${config}\n${example}`.match(/\b[A-Z][A-Z0-9_]+\b/g)),
  };
}

function fill(
  { path, content }: ProjectFile,
  settings: ProjectSettings,
  imported: Imported,
): Buffer {
  const text = content.toString("utf8").replaceAll(NAME, settings.name);
  if (path === "package.json") return Buffer.from(fillManifest(text, settings, imported));
  if (path === "gateway.yaml") return Buffer.from(fillConfig(text, settings, imported));
  if (path === ".env.example") return Buffer.from(makeExample(text, imported));
  return Buffer.from(text);
}

/** @throws {Failure} for the name of something that the project installs: npm would refuse it */
function fillManifest(
  text: string,
  { propylon, name }: ProjectSettings,
  { packages }: Imported,
): string {
  const { dependencies, devDependencies, peerDependencies } = JSON.parse(text) as Manifest;
  if (name in { ...dependencies, ...devDependencies, ...peerDependencies })
    throw new Failure(`A project that installs ${name} cannot be called ${name}. Add --name.`);
  const whole = addDependencies(text, packages);
  const peers = whole.indexOf('"peerDependencies"');
  return whole.replaceAll(/("propylon": )"[^"]*"/g, (_, key: string, at: number) => {
    const isPeer = peers !== -1 && at > peers;
    return `${key}${JSON.stringify(isPeer ? propylon.range : propylon.spec)}`;
  });
}

/** A version that the template names stays. */
function addDependencies(text: string, packages: ReadonlyMap<string, string>): string {
  if (packages.size === 0) return text;
  const manifest = JSON.parse(text) as Manifest;
  const all = { ...Object.fromEntries(packages), ...manifest.dependencies };
  const dependencies = Object.fromEntries(
    Object.entries(all).toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
  // In the place where npm and formatters want it.
  const { devDependencies, engines, ...before } = manifest as Record<string, unknown>;
  const whole = { ...before, dependencies, devDependencies, engines };
  return `${JSON.stringify(whole, undefined, 2)}\n`;
}

type Manifest = Readonly<Partial<Record<`${"" | "dev" | "peer"}${string}`, object>>>;

/** Every template lets its config be changed while it runs, by exactly this line. */
const MUTABLE = "management: { mutations: true }";

function fillConfig(text: string, { production }: ProjectSettings, { yaml }: Imported): string {
  const config = production ? text.replace(MUTABLE, "management: { readOnly: true }") : text;
  if (yaml === "") return config;
  return `${config.trimEnd()}\n\n# Imported; the secrets are in .env now.\n${yaml}`;
}

/** `.env`, for gateways. Only its owner may read it. */
function environment(
  template: readonly ProjectFile[],
  { directory }: ProjectSettings,
  imported: Imported,
): { readonly files: readonly ProjectFile[]; readonly blanks: readonly string[] } {
  if (!template.some(({ path }) => path === ".env.example")) return { files: [], blanks: [] };
  const file = join(directory, ".env");
  // Whatever else is in the way is refused when it comes to writing.
  const isThere = lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
  const before = isThere ? readFileSync(file, "utf8") : undefined;
  const { content, blanks } = makeEnvironment(textOf(template, ".env.example"), imported, before);
  return { files: [{ path: ".env", content: Buffer.from(content), mode: 0o600 }], blanks };
}
