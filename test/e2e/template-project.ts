import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MODULES = join(ROOT, "node_modules");
const NPX = join(ROOT, "test/fixtures/npx.mjs");

/** How a program ended. */
export interface Ran {
  readonly code: number;
  /** Both streams. */
  readonly output: string;
}

/** Packages as they would be published, made from the working tree. */
export interface Workshop {
  readonly folder: string;
  /** File of create-gateway. */
  readonly creator: string;
  /** Folder of the package propylon. */
  readonly propylon: string;
}

/** Builds what scaffolding needs, without a registry. */
export async function openWorkshop(folder: string): Promise<Workshop> {
  const templates = join(folder, "create-gateway");
  const creator = join(templates, "dist/create-gateway.mjs");
  await cp(join(ROOT, "templates"), templates, {
    recursive: true,
    filter: (path) => !/[/\\](?:node_modules|dist)$/.test(path),
  });
  const bundle = await rolldown({ input: join(ROOT, "templates/src/main.ts"), platform: "node" });
  await bundle.write({ file: creator, format: "esm" });
  const propylon = join(folder, "propylon");
  for (const published of ["dist", "package.json", "gateway.schema.json"])
    await cp(join(ROOT, published), join(propylon, published), { recursive: true });
  await chmod(join(propylon, "dist/plugins/cli.js"), 0o755);
  return { folder, creator, propylon };
}

/** Scaffolds a project with the command line that people use, and puts its packages there as links. */
export async function createProject(
  { folder, creator, propylon }: Workshop,
  name: string,
  flags: readonly string[],
): Promise<string> {
  const directory = join(folder, "projects", name);
  await mkdir(dirname(directory), { recursive: true });
  await succeed(run(folder, [process.execPath, creator, directory, ...flags]));
  await linkModules(directory, propylon);
  return directory;
}

/** All packages of the repository, and the package under test. */
async function linkModules(directory: string, propylon: string): Promise<void> {
  const modules = join(directory, "node_modules");
  await mkdir(join(modules, ".bin"), { recursive: true });
  const own = new Set(["propylon", "create-gateway", "playground"]);
  for (const each of await readdir(MODULES))
    if (!each.startsWith(".") && !own.has(each))
      await symlink(join(MODULES, each), join(modules, each));
  for (const each of await readdir(join(MODULES, ".bin")))
    if (!own.has(each)) await symlink(join(MODULES, ".bin", each), join(modules, ".bin", each));
  await symlink(propylon, join(modules, "propylon"));
  await symlink(join(propylon, "dist/plugins/cli.js"), join(modules, ".bin/propylon"));
  await writeFile(join(modules, ".bin/npx"), STARTER, { mode: 0o755 });
}

/** Starts the servers of a project, which are installed. npm in front of each would be most of the work. */
const STARTER = `#!/bin/sh
shift
exec ${JSON.stringify(process.execPath)} ${JSON.stringify(NPX)} "$@"
`;

/**
 * A program in place of npm for the steps of a Dockerfile: it installs by linking, prunes by leaving the links of `dependencies`
 * only, and leaves everything else to npm.
 *
 * @returns folder for the front of `PATH`
 */
export async function fakeNpm(folder: string, modules: string): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  const prune = join(folder, "prune.mjs");
  await writeFile(prune, PRUNE);
  const script = `#!/bin/sh
case "$1" in
  ci|install) cp -R ${JSON.stringify(modules)} node_modules ;;
  prune) exec node ${JSON.stringify(prune)} ;;
  *) PATH="\${PATH#*:}" exec npm "$@" ;;
esac
`;
  await writeFile(join(bin, "npm"), script, { mode: 0o755 });
  return bin;
}

/** What a package needs is found where its link leads to. */
const PRUNE = `import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
const { dependencies = {} } = JSON.parse(readFileSync("package.json", "utf8"));
renameSync("node_modules", "all_modules");
mkdirSync("node_modules/.bin", { recursive: true });
for (const name of Object.keys(dependencies)) {
  const from = realpathSync(join("all_modules", name));
  mkdirSync(dirname(join("node_modules", name)), { recursive: true });
  symlinkSync(from, join("node_modules", name));
  const { bin = {} } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  for (const [word, file] of Object.entries(bin)) symlinkSync(join(from, file), join("node_modules/.bin", word));
}
rmSync("all_modules", { recursive: true });
`;

/** Runs a program to its end. */
export async function run(
  cwd: string,
  [program, ...words]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const { VITEST: _vitest, NODE_ENV: _mode, ...rest } = process.env;
  const options = { cwd, env: { ...rest, NO_COLOR: "1", ...env }, maxBuffer: 16 * 1_024 * 1_024 };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, words, options);
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr, message } = error as Record<string, unknown>;
    const output = `${String(stdout)}${String(stderr)}`;
    return typeof code === "number" ? { code, output } : { code: -1, output: String(message) };
  }
}

/** Runs a script of a project's package.json as npm does. npm itself would be half of the work. */
export async function runScript(
  directory: string,
  name: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const text = await readFile(join(directory, "package.json"), "utf8");
  const { scripts } = JSON.parse(text) as { scripts: Readonly<Record<string, string>> };
  const PATH = [join(directory, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  return run(directory, ["sh", "-c", scripts[name]!], { PATH, ...env });
}

/** The output of a program that must end well. */
export async function succeed(running: Promise<Ran>): Promise<string> {
  const { code, output } = await running;
  if (code !== 0) throw new Error(`Exit code ${code}: ${output}`);
  return output;
}

/** The variables of a project's `.env`. */
export async function readKey(directory: string): Promise<string> {
  const text = await readFile(join(directory, ".env"), "utf8");
  return /^GATEWAY_KEY=(.+)$/m.exec(text)![1]!;
}

/** Takes a folder away. */
export function remove(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true });
}
