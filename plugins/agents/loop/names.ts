import { createHash } from "node:crypto";

/** Longest name of a tool that the APIs of models take. */
const LONGEST = 64;

/**
 * A name for a tool that models take, `[A-Za-z0-9_-]{1,64}`, and no other tool has. What does not fit is replaced, and a name
 * that is too long or taken then ends in a hash of the original, so that it stays the same from run to run.
 */
export function nameForModel(original: string, taken: (name: string) => boolean): string {
  const clean = original.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (clean !== "" && clean.length <= LONGEST && !taken(clean)) return clean;
  for (let round = 0; ; round++) {
    const hash = createHash("sha256").update(`${round}:${original}`).digest("hex").slice(0, 8);
    const name = `${clean.slice(0, LONGEST - hash.length - 1)}_${hash}`;
    if (!taken(name)) return name;
  }
}
