import { readFileSync } from "node:fs";
import { Failure } from "./failure.ts";
import type { ProjectFile } from "./file.ts";

/** Where a project gets propylon from. */
export interface Source {
  /** What package.json asks for. */
  readonly spec: string;
  /** What a published plugin asks of the gateway beside it, which is never a file of this machine. */
  readonly range: string;
  /** The tarball, when there is one: a project that names a file outside itself builds no image and installs nowhere else. */
  readonly files: readonly ProjectFile[];
}

const TARBALL = "propylon.tgz";

/**
 * Reads what `--propylon` says: a tarball of this machine is copied into the project, all else is npm's to understand.
 *
 * @param own the version range that fits this release
 * @throws {Failure} for a tarball that cannot be read
 */
export function readSource(wanted: string | undefined, own: string): Source {
  if (wanted === undefined) return { spec: own, range: own, files: [] };
  if (isPath(wanted)) {
    const content = readTarball(wanted);
    const files = [{ path: TARBALL, content, mode: 0o644 }];
    return { spec: `file:${TARBALL}`, range: own, files };
  }
  return { spec: wanted, range: /[:/]/.test(wanted) ? own : wanted, files: [] };
}

/** `file:...` and URLs are npm's, and start from the project. */
function isPath(text: string): boolean {
  if (/^[a-z+]{2,}:/i.test(text)) return false;
  return /^(?:\.{1,2}(?:[\\/]|$)|[\\/]|[a-z]:)|\.t(?:ar\.)?gz$/i.test(text);
}

function readTarball(path: string): Buffer {
  try {
    const content = readFileSync(path);
    if (content.readUInt16BE(0) === 0x1f_8b) return content;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new Failure(`--propylon: there is no file ${path}.`);
  }
  throw new Failure(
    `--propylon: ${path} is not a tarball. "npm run pack" in a checkout of Propylon makes one.`,
  );
}
