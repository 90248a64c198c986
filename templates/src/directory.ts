import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "./failure.ts";
import type { ProjectFile } from "./file.ts";

/** What may lie in a directory that counts as empty. */
const HARMLESS: ReadonlySet<string> = new Set([".git", ".DS_Store", "Thumbs.db"]);

/** @throws {Failure} when something is in the way */
export function checkDirectory(directory: string, overwrite: boolean): void {
  const there = listDirectory(directory).filter((name) => !HARMLESS.has(name));
  if (there.length === 0 || overwrite) return;
  const some = `${there.slice(0, 3).join(", ")}${there.length > 3 ? ", ..." : ""}`;
  throw new Failure(
    `${directory} is not empty (${some}). Choose another directory, or add --overwrite.`,
  );
}

function listDirectory(directory: string): readonly string[] {
  try {
    // A link to nowhere does not exist, but is in the way.
    if (!lstatSync(directory, { throwIfNoEntry: false })) return [];
    if (statSync(directory).isDirectory()) return readdirSync(directory);
  } catch (error) {
    throw new Failure(unusable(directory, error as NodeJS.ErrnoException));
  }
  throw new Failure(`${directory} is a file. Choose another directory.`);
}

function unusable(directory: string, { code, message }: NodeJS.ErrnoException): string {
  const why: Readonly<Record<string, string>> = {
    ENOENT: "leads nowhere",
    ENOTDIR: "lies below a file",
    EACCES: "is not yours to read",
    ENAMETOOLONG: "has too long a name",
  };
  return `${directory} ${why[code ?? ""] ?? `cannot be used (${code ?? message})`}. Choose another directory.`;
}

/** Files of a project that are there already. */
export function findReplaced(directory: string, files: readonly ProjectFile[]): readonly string[] {
  return files.map(({ path }) => path).filter((path) => existsSync(join(directory, path)));
}

/**
 * Writes a project: all of it, or when something fails nothing.
 *
 * @returns takes everything back
 * @throws {Failure} when it cannot be written; everything is as it was then
 */
export function writeProject(directory: string, files: readonly ProjectFile[]): () => void {
  for (const { path } of files) checkPath(directory, path);
  const steps: (() => void)[] = [];
  const undo = (): void => {
    for (const step of steps.toReversed()) step();
  };
  try {
    for (const file of files) writeFile(directory, file, steps);
    return undo;
  } catch (error) {
    undo();
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(
      `${directory} cannot be written: ${REASONS[code ?? ""] ?? code ?? message}. Nothing was changed.`,
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "you may not write there",
  EPERM: "you may not write there",
  EROFS: "it is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "your quota is used up",
  EFBIG: "files may not be that large",
};

/** @throws {Failure} for a link or the wrong kind of thing in the way: a link could lead out of the directory */
function checkPath(directory: string, path: string): void {
  const parts = path.split("/");
  for (const index of parts.keys()) {
    const place = join(directory, ...parts.slice(0, index + 1));
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (!found) return;
    const isRight = index === parts.length - 1 ? found.isFile() : found.isDirectory();
    if (!isRight)
      throw new Failure(
        `${place} is in the way: it is ${found.isSymbolicLink() ? "a link" : found.isDirectory() ? "a folder" : "not a folder"}. Remove it, or choose another directory.`,
      );
  }
}

function writeFile(
  directory: string,
  { path, content, mode }: ProjectFile,
  steps: (() => void)[],
): void {
  const file = join(directory, path);
  const folder = mkdirSync(dirname(file), { recursive: true });
  if (folder !== undefined) steps.push(() => rmSync(folder, { recursive: true, force: true }));
  steps.push(restore(file));
  // A secret is never readable to others, not even before its mode is set.
  if (existsSync(file)) chmodSync(file, mode);
  writeFileSync(file, content, { mode });
  chmodSync(file, mode);
}

function restore(file: string): () => void {
  if (!existsSync(file)) return () => rmSync(file, { force: true });
  const [before, { mode }] = [readFileSync(file), statSync(file)];
  return () => {
    writeFileSync(file, before);
    chmodSync(file, mode);
  };
}
