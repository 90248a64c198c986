import { readFile, realpath } from "node:fs/promises";
import { basename, extname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isCollection, isMap, isNode, isScalar, isSeq } from "yaml";
import type { Document, Node } from "yaml";
import { GatewayError } from "../kit/errors.ts";
import { lockFile } from "../kit/lock.ts";
import { carryEdit } from "./carry.ts";
import { digestOf } from "../kit/digest.ts";
import { isCode, isEditable } from "./file-names.ts";
import type { ConfigDraft, ConfigEdit } from "../config/edit.ts";
import { type ConfigPath, pathText } from "../config/issue.ts";
import { parseYaml } from "./yaml.ts";
import { replaceFile } from "../kit/replace-file.ts";

/** Content of a file as somebody saw it; see {@link draftConfig}. */
export interface FileVersion {
  readonly text: string;
  /** SHA-256 of the content, hex. */
  readonly version: string;
}

/** Reads a config file together with its version. */
export async function readVersion(file: string): Promise<FileVersion> {
  const bytes = await readFile(file);
  return { text: decode(file, bytes), version: digestOf(bytes) };
}

/**
 * Works out an edit of a YAML or JSON config. Comments, order, quotes and unknown keys stay.
 *
 * @param expected version the edits were made for; they are refused when the file has changed since
 * @throws {GatewayError} `no_config_mode` for a config that is neither, `exists` when the file changed in between or something
 * is there that must not be, `not_found` when it is the other way round, `invalid` when it or a path cannot be edited, `io_error`
 * when it cannot be read
 */
export async function draftConfig(
  file: string,
  edits: readonly ConfigEdit[],
  expected?: string,
): Promise<ConfigDraft> {
  if (!isEditable(file)) {
    const name = basename(file);
    const kind = isCode(file) ? "code" : "neither YAML nor JSON";
    throw byHand(`${name} is ${kind} and cannot be edited here.`, "it");
  }
  // A symlink stays one: its target is what is replaced.
  const target = await guard(file, () => realpath(file));
  const current = await guard(file, () => readVersion(target));
  if (expected !== undefined && current.version !== expected) throw changed(file);
  const text = applyEdits(file, current.text, edits);
  const version = digestOf(text);
  const check = async (): Promise<void> => {
    if ((await readVersion(target)).version !== current.version) throw changed(file);
  };
  const write = (): Promise<void> =>
    guard(file, async () => {
      // Between the last look and the rename another process could write, and its change would be lost.
      const lock = await lockFile(target).catch((error: GatewayError) => {
        throw error.code === "io_error" ? error.cause : error;
      });
      try {
        await replaceFile(target, text, check);
      } finally {
        await lock.release();
      }
    });
  return { text, version, write: version === current.version ? check : write };
}

/** What is refused because only a person can edit it. */
export function byHand(message: string, what: string): GatewayError {
  return new GatewayError("no_config_mode", message, {
    hint: `Edit ${what} by hand; it is reloaded when saved.`,
  });
}

/** Text of a config after edits; everything else in it stays as written. */
export function applyEdits(file: string, text: string, edits: readonly ConfigEdit[]): string {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const breaks = text.includes("\r\n") && !/(?<!\r)\n/.test(text) ? "\r\n" : "\n";
  const plain = text.slice(mark.length).replaceAll(breaks, "\n");
  const isClosed = plain === "" || plain.endsWith("\n");
  let edited = isClosed ? plain : `${plain}\n`;
  for (const change of edits) edited = rewrite(file, edited, change);
  return mark + (isClosed ? edited : edited.replace(/\n$/, "")).replaceAll("\n", breaks);
}

/** One edit at a time: what lies between two of them is not theirs to lay out. */
function rewrite(file: string, original: string, change: ConfigEdit): string {
  const format = extname(file).toLowerCase() === ".json" ? jsonFormat : yamlFormat;
  const document = parseYaml(original, { keepSourceTokens: true });
  if (document.errors.length > 0) throw unreadable(file);
  const before = format(document, original);
  const edit = locate(change, (path) => document.hasIn(path));
  checkPresence(document.hasIn(edit.path), file, edit.path, change.when);
  applyEdit(document, file, edit);
  const after = format(document, original);
  if (after === before) return original;
  const carried = carryEdit({ original, before, after });
  return carried.find((text) => isSameData(text, after)) ?? after;
}

/** Refuses what an edit does not expect to find, or not to find. */
export function checkPresence(
  isThere: boolean,
  file: string,
  path: ConfigPath,
  when: ConfigEdit["when"],
): void {
  if (when === "absent" && isThere)
    throw new GatewayError("exists", `${pathText(path)} is in ${basename(file)} already.`, {
      hint: "Choose another name, or remove that one first.",
    });
  if (when === "present" && !isThere)
    throw new GatewayError("not_found", `${pathText(path)} is not in ${basename(file)}.`, {
      hint: "It may have been removed meanwhile.",
    });
}

function isSameData(left: string, right: string): boolean {
  const document = parseYaml(left);
  return (
    document.errors.length === 0 && isDeepStrictEqual(document.toJS(), parseYaml(right).toJS())
  );
}

/**
 * A path of the config as the file has it: a server stands below `servers` or `mcpServers`, a new one joins the block that
 * is there, and other clients write `disabled`.
 */
export function locate(
  { path, value }: ConfigEdit,
  isThere: (path: ConfigPath) => boolean,
): ConfigEdit {
  const [block, name, key] = path;
  if (block !== "servers" || name === undefined) return { path, value };
  const isPasted =
    isThere(["mcpServers", name]) || (isThere(["mcpServers"]) && !isThere(["servers"]));
  const found = isPasted && !isThere(["servers", name]) ? "mcpServers" : "servers";
  if (key === "enabled" && isThere([found, name, "disabled"]))
    return {
      path: [found, name, "disabled"],
      value: typeof value === "boolean" ? !value : value,
    };
  return { path: [found, ...path.slice(1)], value };
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
        `${pathText(parent.slice(0, depth))} in ${basename(file)} is not a map or list.`,
        { hint: "Edit the file by hand." },
      );
    setNode(document, parent.slice(0, depth), {});
  }
  if (value !== undefined) setNode(document, path, value);
  else if (document.hasIn(path)) document.deleteIn(path);
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

/** lineWidth 0: long values stay on their line. */
function yamlFormat(document: Document, original: string): string {
  const indent = /^( +)[^\s#-]/m.exec(original)?.[1]?.length ?? 2;
  return document.toString({
    lineWidth: 0,
    flowCollectionPadding: !/\{\S/.test(original),
    indent: Math.min(indent, 8),
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(original),
  });
}

function jsonFormat(document: Document, original: string): string {
  const indent = /^[{[]\s*\n([ \t]+)/.exec(original)?.[1] ?? "  ";
  return `${JSON.stringify(document.toJS(), null, indent)}\n`;
}

/** What is not UTF-8 would come back as other bytes. A byte order mark stays. */
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
