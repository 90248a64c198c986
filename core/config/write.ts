import { createHash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { basename, extname } from "node:path";
import { isCollection, isMap, isNode, isScalar, isSeq, parseDocument } from "yaml";
import type { Document, Node } from "yaml";
import { GatewayError } from "../errors.ts";
import type { ConfigPath } from "./issue.ts";
import { pathText } from "./issue.ts";
import { replaceFile } from "./replace.ts";

/** One change of a config file: sets the value at a path, or removes it when `value` is `undefined`. */
export interface ConfigEdit {
  readonly path: ConfigPath;
  readonly value: unknown;
}

/** Content of a file as somebody saw it; see {@link draftConfig}. */
export interface FileVersion {
  readonly text: string;
  /** SHA-256 of the content, hex. */
  readonly version: string;
}

/** A change of a config file that is worked out and not written yet; see {@link draftConfig}. */
export interface ConfigDraft {
  /** The new content. */
  readonly text: string;
  /** SHA-256 of it, hex. */
  readonly version: string;
  /**
   * Replaces the file at once by a rename, so that no reader ever sees half of it, not even after a crash (M027).
   * @throws {GatewayError} `exists` when the file changed since the draft was made, `io_error` when it cannot be written; the
   * old file is intact in both cases
   */
  readonly write: () => Promise<void>;
}

const TEXT_FORMATS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

/** Reads a config file together with its version. */
export async function readVersion(file: string): Promise<FileVersion> {
  const bytes = await readFile(file);
  return { text: decode(file, bytes), version: versionOf(bytes) };
}

/**
 * Works out an edit of a YAML or JSON config. Comments, order, quotes and unknown keys stay.
 *
 * @param expected version the edits were made for; they are refused when the file has changed since
 * @throws {GatewayError} `no_config_mode` for a config that is code (M088), `exists` when the file changed in between, `invalid`
 * when it or a path cannot be edited, `io_error` when it cannot be read
 */
export async function draftConfig(
  file: string,
  edits: readonly ConfigEdit[],
  expected?: string,
): Promise<ConfigDraft> {
  if (!TEXT_FORMATS.has(extname(file).toLowerCase()))
    throw new GatewayError(
      "no_config_mode",
      `${basename(file)} is code and cannot be edited here.`,
      {
        hint: "Edit it by hand; it is reloaded when saved.",
      },
    );
  // A symlink stays one: its target is what is replaced.
  const target = await guard(file, () => realpath(file));
  const current = await guard(file, () => readVersion(target));
  if (expected !== undefined && current.version !== expected) throw changed(file);
  const text = applyEdits(file, current.text, edits);
  const version = versionOf(text);
  const check = async (): Promise<void> => {
    if ((await readVersion(target)).version !== current.version) throw changed(file);
  };
  const write = (): Promise<void> => guard(file, () => replaceFile(target, text, check));
  return { text, version, write: version === current.version ? check : write };
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

function versionOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** What is no UTF-8 would come back as other bytes. A byte order mark stays. */
function decode(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(file);
  }
}

function changed(file: string): GatewayError {
  return new GatewayError("exists", `${basename(file)} was changed by somebody else in between.`, {
    hint: "Reload it, look at it again and repeat the change.",
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
