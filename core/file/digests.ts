import { readFile } from "node:fs/promises";
import { digestOf } from "../kit/digest.ts";

/** Digest of each file, or `gone`. */
export type Digests = ReadonlyMap<string, string>;

/** Digests of files as they are now. */
export async function digestsOf(files: readonly string[]): Promise<Digests> {
  return new Map(await Promise.all(files.map(async (file) => [file, await digest(file)] as const)));
}

/** Whether the same files hold the same. */
export function isSame(left: Digests, right: Digests): boolean {
  return (
    left.size === right.size && [...left].every(([file, content]) => right.get(file) === content)
  );
}

async function digest(file: string): Promise<string> {
  const content = await readFile(file).catch(() => undefined);
  return content === undefined ? "gone" : digestOf(content);
}
