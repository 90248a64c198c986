import { spawn, spawnSync, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { unpack } from "../fixtures/untar.ts";

/** Folder of the repository. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** create-gateway as npm would install it. */
export interface Creator {
  /** Its tarball. */
  readonly tarball: string;
  /** Paths in the tarball, with `package/` left out. */
  readonly files: readonly string[];
  /** Its folder, unpacked. */
  readonly folder: string;
  /** Its program. */
  readonly program: string;
}

let shared: Creator | undefined;

/** The files of a process share one; nothing writes into its folder. */
export function openCreator(): Creator {
  return (shared ??= makeCreator());
}

/** Builds, packs and unpacks create-gateway, somewhere else: other tests build it too. It goes with the run. */
function makeCreator(): Creator {
  const folder = mkdtempSync(join(process.env["RUN_FOLDER"] ?? tmpdir(), "create-gateway-"));
  const source = join(folder, "source");
  const made = /[/\\](?:node_modules|templates[/\\](?:dist|src|build\.mjs))$/;
  cpSync(join(ROOT, "templates"), source, { recursive: true, filter: (path) => !made.test(path) });
  must(process.execPath, [join(ROOT, "templates/build.mjs"), join(source, "dist")], ROOT);
  must("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], source);
  const tarball = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith(".tgz"))!,
  );
  unpack(tarball, folder);
  const unpacked = join(folder, "package");
  return {
    tarball,
    files: listFiles(unpacked),
    folder: unpacked,
    program: join(unpacked, "dist/create-gateway.mjs"),
  };
}

function must(command: string, words: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(command, words, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${words.join(" ")}: ${error?.message ?? stderr}`);
}

/** Every file below a folder, without that of git, sorted. */
export function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => relative(folder, join(folder, path)))
    .filter((path) => !path.startsWith(".git/"))
    .toSorted();
}

/** How a program ended, and what it printed. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment without what tells create-gateway of npm, CI and programs that write code. */
export function cleanEnvironment(
  more: Readonly<Record<string, string>> = {},
): Record<string, string | undefined> {
  const foreign = /^(?:npm_|CI$|DEBUG$|AI_AGENT$|CLAUDE|CODEX|CURSOR|GEMINI|OPENCODE|AUGMENT)/i;
  const own = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return { ...Object.fromEntries(own), ...more };
}

/** Runs a program without a terminal. */
export async function run(
  command: string,
  words: readonly string[],
  options: SpawnOptions,
): Promise<Ran> {
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** Runs create-gateway without a terminal. */
export function create(
  { program }: Creator,
  cwd: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const env = cleanEnvironment(environment) as NodeJS.ProcessEnv;
  return run(process.execPath, [program, ...words], { cwd, env });
}
