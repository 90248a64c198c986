import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A folder for one test run, inside node_modules so that what is put there finds its packages and git does not find it. */
export async function workFolder(): Promise<string> {
  const cache = join(ROOT, "node_modules/.cache/propylon");
  await mkdir(cache, { recursive: true });
  return mkdtemp(join(cache, "e2e-"));
}

/**
 * Compiles the package as it would be published, for tests that need a process of its own: Node 20 cannot run TypeScript.
 * @returns path of the command line's main file
 */
export async function buildCommand(folder: string): Promise<string> {
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin/tsc",
  );
  // Types are the business of `npm run typecheck`.
  await promisify(execFile)(process.execPath, [
    compiler,
    "-p",
    ROOT,
    "--noCheck",
    "--sourceMap",
    "false",
    "--declaration",
    "false",
    "--outDir",
    join(folder, "dist"),
  ]);
  await writeFile(join(folder, "package.json"), await describePackage());
  return join(folder, "dist/plugins/cli.js");
}

/** What makes the folder the package itself: its plugins would come from the last build of the working tree otherwise. */
async function describePackage(): Promise<string> {
  const { name, version, type, exports } = JSON.parse(
    await readFile(join(ROOT, "package.json"), "utf8"),
  ) as Record<string, unknown>;
  return JSON.stringify({ name, version, type, exports });
}
