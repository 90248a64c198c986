import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Hash over the contents of files; a file that cannot be read counts as empty. */
export function digestFiles(files: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const file of [...files].toSorted())
    hash.update(file).update("\0").update(contentOf(file)).update("\0");
  return hash.digest("hex");
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}
