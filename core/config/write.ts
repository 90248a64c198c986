import { createHash, randomBytes } from "node:crypto";
import { open, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { isCollection, isMap, isNode, isScalar, isSeq, parseDocument } from "yaml";
import type { Document, Node } from "yaml";
import { GatewayError } from "../errors.ts";
import type { ConfigPath } from "./issue.ts";
import { pathText } from "./issue.ts";

/** One change of a config file: sets the value at a path, or removes it when `value` is `undefined`. */
export interface ConfigEdit {
  readonly path: ConfigPath;
  readonly value: unknown;
}

/** Content of a file as somebody saw it; see {@link editConfig}. */
export interface FileVersion {
  readonly text: string;
  /** SHA-256 of the content, hex. */
  readonly version: string;
}

const queues = new Map<string, Promise<unknown>>();

/** Reads a config file together with its version. */
export async function readVersion(file: string): Promise<FileVersion> {
  const text = await readFile(file, "utf8");
  return { text, version: versionOf(text) };
}

/**
 * Edits a YAML or JSON config in place and returns its new version. Comments, order, quotes and unknown keys stay. The file is
 * replaced at once by a rename, so that no reader ever sees half of it, not even after a crash (M027). Edits of one file wait
 * for each other.
 *
 * @param expected version the edits were made for; the edit is refused when the file has changed since
 * @throws {GatewayError} `exists` when the file changed in between, `invalid` when it or a path cannot be edited, `io_error`
 *   when it cannot be written; the old file is intact in every case
 */
export function editConfig(
  file: string,
  edits: readonly ConfigEdit[],
  expected?: string,
): Promise<string> {
  const before = queues.get(file) ?? Promise.resolve();
  const done = before.then(() => edit(file, edits, expected));
  const settled = done.catch(() => {});
  queues.set(file, settled);
  void settled.then(() => {
    if (queues.get(file) === settled) queues.delete(file);
  });
  return done;
}

async function edit(
  file: string,
  edits: readonly ConfigEdit[],
  expected: string | undefined,
): Promise<string> {
  if (![".yaml", ".yml", ".json"].includes(extname(file).toLowerCase())) {
    throw new GatewayError("invalid", `${basename(file)} is code and cannot be edited here.`, {
      hint: "Edit it by hand; it is reloaded when saved.",
    });
  }
  // A symlink stays one: its target is what is replaced.
  const target = await guard(file, () => realpath(file));
  const current = await guard(file, () => readVersion(target));
  if (expected !== undefined && current.version !== expected) throw changed(file);
  const text = applyEdits(file, current.text, edits);
  await guard(file, () =>
    replaceFile(
      target,
      text,
      async () =>
        (await readVersion(target)).version === current.version || Promise.reject(changed(file)),
    ),
  );
  return versionOf(text);
}

/** Text of a config after edits; everything else in it stays as written. */
export function applyEdits(file: string, text: string, edits: readonly ConfigEdit[]): string {
  if (extname(file).toLowerCase() === ".json") return editJson(file, text, edits);
  const document = parseDocument(text, { keepSourceTokens: true });
  if (document.errors.length > 0) throw unreadable(file);
  for (const change of edits) applyEdit(document, file, change);
  // lineWidth 0: long values stay on their line.
  return document.toString({ lineWidth: 0, flowCollectionPadding: !/\{\S/.test(text) });
}

function applyEdit(document: Document, file: string, { path, value }: ConfigEdit): void {
  const parent = path.slice(0, -1);
  for (let depth = 0; depth <= parent.length; depth++) {
    const node: unknown = document.getIn(parent.slice(0, depth), true);
    if (node === undefined || node === null || isMap(node) || isSeq(node)) continue;
    const empty = isScalar(node) && node.value === null;
    if (!empty)
      throw new GatewayError(
        "invalid",
        `${pathText(parent.slice(0, depth))} in ${basename(file)} is no map or list.`,
        { hint: "Edit the file by hand." },
      );
    setNode(document, parent.slice(0, depth), {});
  }
  if (value === undefined) document.deleteIn(path);
  else setNode(document, path, value);
}

/** A scalar takes a new scalar in; any other node is replaced, and its comments pass to the new one. */
function setNode(document: Document, path: ConfigPath, value: unknown): void {
  const old: unknown = document.getIn(path, true);
  if (isScalar(old) && (typeof value !== "object" || value === null)) {
    document.setIn(path, value);
    return;
  }
  const node = document.createNode(value) as Node;
  if (isNode(old)) {
    const above = [
      old.commentBefore,
      isScalar(old) && isCollection(node) ? old.comment : undefined,
    ].filter((comment) => comment != null);
    if (above.length > 0) node.commentBefore = above.join("\n");
    if (!isCollection(node) || isCollection(old)) node.comment = old.comment ?? null;
  }
  document.setIn(path, node);
}

/** JSON has no comments to keep; order and indentation are. */
function editJson(file: string, text: string, edits: readonly ConfigEdit[]): string {
  const indent = /^[{[]\s*\n([ \t]+)/.exec(text)?.[1] ?? "  ";
  const document = parseDocument(text);
  if (document.errors.length > 0) throw unreadable(file);
  for (const change of edits) applyEdit(document, file, change);
  return `${JSON.stringify(document.toJS(), null, indent)}${text.endsWith("\n") ? "\n" : ""}`;
}

/**
 * Replaces a file by one with another content: a temporary file in the same folder, flushed, renamed over it, the folder flushed.
 *
 * @param check runs last before the rename; a rejection leaves the old file
 */
export async function replaceFile(
  file: string,
  text: string,
  check?: () => Promise<unknown>,
): Promise<void> {
  const temporary = join(
    dirname(file),
    `.${basename(file)}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`,
  );
  try {
    const mode = await stat(file).then(
      (found) => found.mode & 0o777,
      () => 0o600,
    );
    const handle = await open(temporary, "wx", mode);
    try {
      // open() is subject to the umask.
      await handle.chmod(mode);
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await check?.();
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Without this the rename itself may be lost when the machine loses power. Some file systems cannot; the rename still holds. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** Removes temporary files that a killed process left beside a config. Those of a living process are kept. */
export async function sweepTemporary(file: string): Promise<void> {
  const folder = dirname(file);
  const pattern = new RegExp(
    `^\\.${basename(file).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\.(\\d+)\\.[0-9a-f]{8}\\.tmp$`,
  );
  for (const name of await readdir(folder).catch(() => [])) {
    const owner = pattern.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner)))
      await rm(join(folder, name), { force: true }).catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function versionOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function changed(file: string): GatewayError {
  return new GatewayError("exists", `${basename(file)} was changed by somebody else in between.`, {
    hint: "Read it again and repeat the change.",
    data: { reason: "changed" },
  });
}

function unreadable(file: string): GatewayError {
  return new GatewayError(
    "invalid",
    `${basename(file)} cannot be read as it stands, so it was not changed.`,
    { hint: "Correct it first; propylon check shows where." },
  );
}

async function guard<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new GatewayError("io_error", `${basename(file)} cannot be written (${code}).`, {
      hint: HINTS[code] ?? "Check the file and its folder.",
      cause: error,
    });
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EACCES: "Give the gateway's user write permission for the file and its folder.",
  EPERM: "Give the gateway's user write permission for the file and its folder.",
  EROFS: "The file system is read-only; change the file where it comes from.",
  ENOSPC: "The disk is full; the old file is intact.",
  EDQUOT: "The quota is used up; the old file is intact.",
};
