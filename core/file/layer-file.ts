import { join, parse, dirname, resolve } from "node:path";
import { loadCode, readCode, readText } from "../config/code.ts";
import type { ConfigText } from "../config/config.ts";
import { CONFIG_NAMES, isCode, isText } from "./file-names.ts";
import { parseFormat } from "./formats.ts";
import { invalidConfig, type ConfigIssue } from "../config/issue.ts";
import { isPlainObject } from "../kit/json.ts";
import { digestOf } from "../kit/digest.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";

/** A file, the config in a folder, or the one of an installed package; `undefined` if it does not exist. */
export async function findLayer(
  name: string,
  folder: string,
  files: Set<string> | undefined,
): Promise<string | undefined> {
  const path = resolve(folder, name);
  const isPath = /^\.{0,2}[\\/]|^\.{1,2}$|^[a-z]:/i.test(name);
  for (const place of isPath ? [path] : [path, ...packagesNamed(name, folder)]) {
    const isFile = isText(place) || isCode(place);
    const candidates = isFile ? [place] : CONFIG_NAMES.map((each) => join(place, each));
    for (const each of candidates) {
      files?.add(each);
      if (await isThere(each)) return each;
    }
  }
  return undefined;
}

/** Where a package of that name may be, nearest first. */
function packagesNamed(name: string, folder: string): readonly string[] {
  const here = join(folder, "node_modules", name);
  return folder === parse(folder).root ? [here] : [here, ...packagesNamed(name, dirname(folder))];
}

/** Asked by reading: in a build, layers are part of it and not on disk. */
async function isThere(file: string): Promise<boolean> {
  try {
    await readLayer(file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== "ENOENT" && code !== "ENOTDIR";
  }
}

/** The content of a layer: of the build, where it is part of one. */
export function readLayer(file: string): Promise<string | Buffer> {
  return isCode(file) ? readCode(file) : readText(file);
}

/** A config file as it was read. */
export interface Source extends ConfigText {
  readonly version: string;
  readonly text: string | undefined;
}

/**
 * Reads and parses one file.
 *
 * @param shown name to show in places
 * @throws {GatewayError} `invalid` with what is wrong in it; `no_config` when it is not there; `io_error`
 */
export async function readSource(
  path: string,
  shown: string,
  read: () => Promise<string | Buffer>,
): Promise<Source> {
  if (!isText(path) && !isCode(path)) {
    throw new GatewayError(
      "no_config",
      `${shown} is not a config: its name must end in .yaml, .yml, .json, .json5, .jsonc, .toml, .ts, .mts or .js.`,
      { hint: "Rename it, or give another path." },
    );
  }
  const bytes = await readBytes(read, shown);
  const text = isText(path) ? bytes.toString("utf8") : undefined;
  const parsed = text === undefined ? await loadCode(path, shown) : await parseFormat(text, shown);
  const wrong = parsed.issues.length === 0 ? topIssue(parsed.value) : undefined;
  const place = { file: shown, line: 1, column: 1 };
  const issues = wrong ? [{ ...wrong, place }] : parsed.issues;
  if (issues.length > 0) throw invalidConfig(issues);
  return { ...parsed, version: digestOf(bytes), text };
}

/** What is wrong with a config as a whole. */
function topIssue(value: unknown): Omit<ConfigIssue, "place"> | undefined {
  if (value === null || value === undefined)
    return {
      message: "The file is empty.",
      hint: 'Start with a server: servers: { search: { url: "https://..." } }.',
    };
  if (isPlainObject(value)) return undefined;
  return {
    message: "The config must be a map of options at its top.",
    hint: "Begin with servers: or another option; see docs/guide/config.md.",
  };
}

async function readBytes(read: () => Promise<string | Buffer>, shown: string): Promise<Buffer> {
  try {
    return Buffer.from(await read());
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT")
      throw new GatewayError("no_config", `The config ${shown} does not exist.`, {
        hint: "Check the path.",
        place: { file: shown },
      });
    if (code === "EISDIR")
      throw new GatewayError("no_config", `${shown} is a folder.`, {
        hint: "Give the path of a config file.",
        place: { file: shown },
      });
    throw isGatewayError(error)
      ? error
      : new GatewayError(
          "io_error",
          `The config ${shown} cannot be read (${code ?? "unknown error"}).`,
          { hint: "Check its permissions.", place: { file: shown }, cause: error },
        );
  }
}
