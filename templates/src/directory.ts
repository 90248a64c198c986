import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Failure } from "./failure.ts";
import type { ProjectFile } from "./project.ts";

/** A name that npm, Docker and Kubernetes take. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** What may lie in a directory that counts as empty. */
const HARMLESS: ReadonlySet<string> = new Set([".git", ".DS_Store", "Thumbs.db"]);

/**
 * The name of the project in a directory.
 *
 * @throws {Failure} when it is none
 */
export function nameOf(directory: string): string {
  const name = basename(resolve(directory));
  if (!NAME.test(name))
    throw new Failure(
      `"${name}" cannot be the name of a project: use lower-case letters, digits and hyphens, at most 63.`,
    );
  return name;
}

/** @throws {Failure} when something is in the way */
export function checkDirectory(directory: string, overwrite: boolean): void {
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory()) throw new Failure(`${directory} is a file.`);
  const there = readdirSync(directory).filter((name) => !HARMLESS.has(name));
  if (there.length > 0 && !overwrite)
    throw new Failure(
      `${directory} is not empty (${there.slice(0, 3).join(", ")}${there.length > 3 ? ", ..." : ""}). Choose another directory, or add --overwrite.`,
    );
}

/**
 * Writes a project in one go: nothing can interrupt it, and when something fails everything is as it was.
 *
 * @throws {Failure} when it cannot be written
 */
export function writeProject(directory: string, files: readonly ProjectFile[]): void {
  const undo: (() => void)[] = [];
  try {
    for (const file of files) writeFile(directory, file, undo);
  } catch (error) {
    for (const step of undo.toReversed()) step();
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(
      `${directory} cannot be written (${code ?? message}). Everything is as it was.`,
    );
  }
}

function writeFile(
  directory: string,
  { path, content, mode }: ProjectFile,
  undo: (() => void)[],
): void {
  const file = join(directory, path);
  const folder = mkdirSync(dirname(file), { recursive: true });
  if (folder !== undefined) undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const before = existsSync(file) ? readFileSync(file) : undefined;
  undo.push(() =>
    before === undefined ? rmSync(file, { force: true }) : writeFileSync(file, before),
  );
  writeFileSync(file, content);
  // The mode of writeFile counts only for files that it makes.
  chmodSync(file, mode);
}
