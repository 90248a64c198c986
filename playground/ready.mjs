import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Folder of the repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** Installs the dependencies unless exactly those of the lockfile are there. */
export function install() {
  if (isInstalled()) return;
  console.error("Installing dependencies ...");
  run("npm", ["ci", "--no-audit", "--no-fund"]);
}

/** Compiles the sources unless the result is newer than they are. */
export function build() {
  const written = ["dist/plugins/cli.js", "gateway.schema.json"];
  const built = Math.min(...written.map((name) => modifiedAt(join(root, name))));
  const sources = ["core", "plugins", "tsconfig.json", "package.json"].map((name) =>
    newest(join(root, name)),
  );
  if (built > Math.max(...sources)) return;
  console.error("Building ...");
  // To check the types is the business of npm test, and more than half of the work.
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", ".", "--noCheck"]);
  run(process.execPath, [join(root, ".ci/bundle.mjs")]);
  for (const plugin of ["ui", "console"])
    run(process.execPath, [join(root, "plugins", plugin, "web/build.mjs")]);
  run(process.execPath, [join(root, ".ci/schema.mjs")]);
}

/** Runs a command in the repository, showing its output; ends this process with its code when it fails. */
export function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error) console.error(`${command} cannot be started: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** npm keeps a copy of what it installed; times are no help, since git sets them to when it wrote the files. */
function isInstalled() {
  const installed = readLock(join(root, "node_modules/.package-lock.json"));
  if (!installed) return false;
  const wanted = Object.entries(readLock(join(root, "package-lock.json")) ?? {});
  return wanted.every(
    ([path, entry]) =>
      path === "" ||
      entry.optional ||
      entry.peer ||
      entry.link ||
      !path.startsWith("node_modules/") ||
      installed[path]?.version === entry.version,
  );
}

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

function newest(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function modifiedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
