import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A folder for one test run, inside node_modules so that what is put there finds its packages and git does not find it. */
export async function workFolder(): Promise<string> {
  const cache = join(ROOT, "node_modules/.cache/propylon");
  await mkdir(cache, { recursive: true });
  return mkdtemp(join(cache, "e2e-"));
}

/** Main file of the command line as it is published: Node 20 cannot run TypeScript. Every test run builds it first (test/build.ts). */
export const main = join(ROOT, "dist/plugins/cli.js");
