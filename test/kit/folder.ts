import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterwards } from "./afterwards.ts";

/**
 * A temporary folder, which goes with the test, or with its file where it is made outside of a test.
 * Tests that run at once make their own: it would go with the first that ends.
 *
 * @param files texts by their names in it
 */
export function makeFolder(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "propylon-test-"));
  afterwards(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
