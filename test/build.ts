import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "../playground/ready.mjs";

/** Before all tests: those of the command line run what is in dist, and two files that compiled it at once would meet half of it. */
export function setup(): () => void {
  build();
  // A browser that ends with its process leaves its profile behind.
  const profiles = mkdtempSync(join(tmpdir(), "propylon-browsers-"));
  process.env["BROWSER_PROFILES"] = profiles;
  return () => rmSync(profiles, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
