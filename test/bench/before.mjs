import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Outside of the repository: TypeScript would take packages from both. */
const CHECKOUTS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "propylon-bench");

/**
 * The folder of earlier code with its build.
 *
 * @param before such a folder, or what git knows a commit by; of a commit a checkout is made, installed and built once
 */
export function checkoutOf(before) {
  if (existsSync(before)) return before;
  const commit = run("git", ["rev-parse", "--verify", "--quiet", `${before}^{commit}`]).trim();
  const folder = join(CHECKOUTS, commit);
  if (isBuilt(folder)) return folder;
  unpack(commit, folder);
  run("npm", ["ci", "--silent", "--ignore-scripts"], folder);
  run("npm", ["run", "build", "--silent"], folder);
  if (!isBuilt(folder)) throw new Error(`The build of ${before} left no dist/core/index.js.`);
  return folder;
}

/** The files of a commit, without a worktree that git would have to forget again. */
function unpack(commit, folder) {
  mkdirSync(folder, { recursive: true });
  const archive = `${folder}.tar`;
  run("git", ["archive", "--output", archive, commit]);
  run("tar", ["-xf", archive, "-C", folder]);
  rmSync(archive);
}

function isBuilt(folder) {
  return existsSync(join(folder, "dist/core/index.js"));
}

function run(command, args, cwd = ROOT) {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}
