import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "../playground/ready.mjs";

/** Before all tests: those of the command line run what is in dist, and two files that compiled it at once would meet half of it. */
export function setup(): () => void {
  build();
  // For what a process leaves behind as it ends: the profile of its browser, the packages that its files share.
  const folder = mkdtempSync(join(tmpdir(), "propylon-run-"));
  process.env["RUN_FOLDER"] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
