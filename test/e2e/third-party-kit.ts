import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { unpack } from "../fixtures/untar.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What npm would have installed for the package and for the gateway. */
const INSTALLED = ["propylon", "zod", "prom-client"];

/** The name under which the package is published. */
export const PACKAGE = "acme-notes";

/** The release that comes after the scaffolded one: another greeting from its tool list, and a timer while it runs. */
const NEXT: readonly (readonly [string, string])[] = [
  ["Keeps a note.", "Keeps a note for later."],
  [
    "setup(gateway) {",
    "setup(gateway) { gateway.onStart(() => { const timer = setInterval(() => {}, 1_000); return () => clearInterval(timer); });",
  ],
];

/** A plugin package and a gateway that has never heard of it, each in a folder of its own far from this repository. */
export interface Workshop {
  /** Folder of the gateway. */
  readonly gateway: string;
  /** Packed releases. */
  readonly first: string;
  readonly next: string;
  remove(): Promise<void>;
}

/** Scaffolds the package with the template, compiles it with its own tsconfig, and packs two releases of it. */
export async function openWorkshop(): Promise<Workshop> {
  const root = await mkdtemp(join(tmpdir(), "propylon-third-party-"));
  const [author, gateway] = [join(root, PACKAGE), join(root, "gateway")];
  await scaffold(author);
  for (const folder of [author, gateway]) await linkInstalled(folder);
  const compiler = createRequire(import.meta.url).resolve("typescript/package.json");
  await run(process.execPath, [join(dirname(compiler), "bin/tsc")], { cwd: author });
  const first = await pack(author);
  await release(author);
  const next = await pack(author);
  return { gateway, first, next, remove: () => rm(root, { recursive: true, force: true }) };
}

/** What `npm install <tarball>` does to a package whose dependencies are there already; no registry is asked. */
export async function install(tarball: string, gateway: string): Promise<void> {
  const unpacked = await mkdtemp(join(dirname(gateway), "unpacked-"));
  unpack(tarball, unpacked);
  const target = join(gateway, "node_modules", PACKAGE);
  await rm(target, { recursive: true, force: true });
  await cp(join(unpacked, "package"), target, { recursive: true });
}

/** With the command line that people use, bundled as it is published. */
async function scaffold(folder: string): Promise<void> {
  const creator = join(dirname(folder), "create-gateway");
  await cp(join(ROOT, "templates"), creator, {
    recursive: true,
    filter: (path) => !/[/\\](?:node_modules|dist)$/.test(path),
  });
  const bundle = await rolldown({ input: join(ROOT, "templates/src/main.ts"), platform: "node" });
  const file = join(creator, "dist/create-gateway.mjs");
  await bundle.write({ file, format: "esm" });
  await bundle.close();
  await run(process.execPath, [file, folder, "--yes", "--template", "plugin"]);
}

async function linkInstalled(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"), { recursive: true });
  for (const name of INSTALLED)
    await symlink(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
}

async function pack(folder: string): Promise<string> {
  const { stdout } = await run("npm", ["pack", "--offline", "--silent"], { cwd: folder });
  return join(folder, stdout.trim());
}

async function release(folder: string): Promise<void> {
  const [code, manifest] = [join(folder, "dist/index.js"), join(folder, "package.json")];
  const text = await readFile(code, "utf8");
  const edited = NEXT.reduce((current, [old, now]) => current.replace(old, now), text);
  await writeFile(code, edited);
  const described = await readFile(manifest, "utf8");
  await writeFile(manifest, described.replace('"version": "0.1.0"', '"version": "0.2.0"'));
}
