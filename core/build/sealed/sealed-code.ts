import { readFile } from "node:fs/promises";
import { code, texts } from "virtual:gateway/plugins";
import type { CodeModule } from "../../config/code.ts";
import type { ConfigIssue } from "../../config/issue.ts";
import { type ConfigText, partsOf, Places } from "../../config/config.ts";
import { digestFiles } from "../../config/file-digest.ts";
import { keyOf } from "../build-key.ts";
import { configFolder } from "./folder.ts";

/**
 * In place of core/config/code.ts in a build: code is what it was made with, and texts are those on disk, else those it was made
 * with. So neither jiti nor c12 is in it.
 */
export function importCode(file: string): Promise<CodeModule> {
  const files = new Set<string>();
  return Promise.resolve({ exports: { ...moduleOf(file) }, files, digest: digestFiles(files) });
}

/** See core/config/code.ts; for a module of the build its path, which never changes. */
export function readCode(file: string): Promise<Buffer> {
  moduleOf(file);
  return Promise.resolve(Buffer.from(keyOf(configFolder(), file)));
}

/** See core/config/code.ts; of a module only its path is known, which tells it from others as its source would. */
export async function readText(file: string): Promise<string> {
  const key = keyOf(configFolder(), file);
  if (Object.hasOwn(code, key)) return key;
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && Object.hasOwn(texts, key))
      return texts[key]!;
    throw error;
  }
}

/** See core/config/code.ts. */
export async function loadCode(file: string): Promise<ConfigText> {
  const shown = keyOf(configFolder(), file);
  const found = moduleOf(file)["default"];
  const value: unknown = typeof found === "function" ? await (found as () => unknown)() : found;
  return { value, issues: [], places: new Places(shown, partsOf(value, { file: shown })) };
}

/** See core/config/code.ts. */
export function codeIssue(error: unknown, _file: string, shown: string): ConfigIssue {
  const message = error instanceof Error ? error.message : String(error);
  return {
    message: `The file cannot be used: ${message}`,
    hint: "Correct it and run propylon build again.",
    place: { file: shown },
  };
}

function moduleOf(file: string): Readonly<Record<string, unknown>> {
  const key = keyOf(configFolder(), file);
  if (Object.hasOwn(code, key)) return code[key]!;
  throw Object.assign(new Error(`${key} is not in this build.`), { code: "ENOENT" });
}
