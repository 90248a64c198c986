import { readFile } from "node:fs/promises";
import { basename, dirname, relative, sep } from "node:path";
import type { Jiti } from "jiti";
import { isGatewayError } from "../kit/errors.ts";
import { digestFiles } from "./file-digest.ts";
import type { ConfigIssue } from "./issue.ts";
import { IMPORTS_MODULE, NamedImports } from "./code-imports.ts";
import { type ConfigText, partsOf, Places } from "./config.ts";

/** What code beside a config shares with the gateway. By public names, so that it is the copy that runs. */
const SHARED = [
  "propylon",
  "propylon/kit",
  "propylon/store",
  "propylon/process",
  "propylon/internal",
  "propylon/panels",
  "propylon/plugins/agents",
  "zod",
  "prom-client",
] as const;

/** A module of this machine with the files it is made of. */
export interface CodeModule {
  readonly exports: Record<string, unknown>;
  /** Absolute paths of the module and of everything it imports from outside `node_modules`. */
  readonly files: ReadonlySet<string>;
  /** Hash over the contents of `files`; another hash means that the module must be loaded again. */
  readonly digest: string;
}

/**
 * Imports a TypeScript or JavaScript file beside a config. Through jiti, since Node 20 cannot strip types and no Node can load
 * an edited module a second time: nothing is cached, so the file and what it imports are always as they are on disk.
 *
 * The doors of `propylon`, its agents and panels, `zod` and `prom-client` are those of the running gateway, wherever the file lies: a
 * second copy would have its own classes.
 */
export async function importCode(file: string): Promise<CodeModule> {
  const files = new Set([file]);
  const { jiti, check } = await createImporter(file, files);
  // A module may fail for want of a name; then the name says more than the failure.
  const exports = await jiti.import<Record<string, unknown>>(file).finally(check);
  return { exports, files, digest: digestFiles(files) };
}

/**
 * The source of a module, to see that it is there and whether it changed.
 * @throws the error of the file system
 */
export function readCode(file: string): Promise<Buffer> {
  return readFile(file);
}

/**
 * A text file beside a config.
 * @throws the error of the file system
 */
export function readText(file: string): Promise<string> {
  return readFile(file, "utf8");
}

/** An importer, and what to do once it has imported: see that every imported name is there. */
interface Importer {
  readonly jiti: Jiti;
  readonly check: () => void;
}

async function createImporter(file: string, files: Set<string>): Promise<Importer> {
  const { createJiti } = await import("jiti");
  const shared = SHARED.map(async (name) => [name, (await import(name)) as unknown] as const);
  const known = Object.fromEntries(await Promise.all(shared)) as Record<string, object>;
  const plain = createJiti(file, { fsCache: false });
  const imports = new NamedImports();
  const jiti = createJiti(file, {
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    virtualModules: { ...known, [IMPORTS_MODULE]: imports.module },
    transform(options) {
      const { filename, source } = options;
      const code = plain.transform(options);
      if (filename === undefined || filename.includes(`${sep}node_modules${sep}`)) return { code };
      files.add(filename);
      return { code: imports.observe(filename, source, code) };
    },
  });
  return { jiti, check: () => imports.check(known) };
}

/**
 * Loads a config that is code, or a layer of one. No option of c12 that reads further files or downloads anything is on: one file,
 * as it stands. How files are laid over each other is the same for code and text.
 *
 * @param shown name to show in places
 */
export async function loadCode(file: string, shown: string): Promise<ConfigText> {
  const { loadConfig } = await import("c12");
  try {
    const { jiti, check } = await createImporter(file, new Set());
    const { config } = await loadConfig({
      cwd: dirname(file),
      configFile: basename(file),
      configFileRequired: true,
      jiti,
      rcFile: false,
      globalRc: false,
      packageJson: false,
      dotenv: false,
      envName: false,
      extend: false,
      giget: false,
      // One layer only: nothing to merge, so no list is ever concatenated.
      merger: (...layers: unknown[]) =>
        layers.find((layer) => layer !== undefined && layer !== null) as Record<string, unknown>,
    }).finally(check);
    return {
      value: config,
      issues: [],
      places: new Places(shown, partsOf(config, { file: shown })),
    };
  } catch (error) {
    const issues = [codeIssue(error, file, shown)];
    return { value: undefined, issues, places: new Places(shown) };
  }
}

/** A module that cannot be loaded, as an issue at the place its error names. */
export function codeIssue(error: unknown, file: string, shown: string): ConfigIssue {
  if (isGatewayError(error) && error.place)
    return { message: error.message, hint: error.hint ?? "Correct it.", place: error.place };
  const message = error instanceof Error ? error.message : String(error);
  const [first = ""] = message.split("\n");
  const at = /:(\d+):(\d+)\s*$/.exec(message);
  const place = { file: shown, ...(at && { line: Number(at[1]), column: Number(at[2]) }) };
  const folder = dirname(file) + sep;
  return {
    message: `The file cannot be loaded: ${relativeText(first.trim(), folder)}.`,
    hint: "Correct it; running it with node or tsc shows more.",
    place,
  };
}

/** No absolute path of this machine leaves in a message. */
function relativeText(text: string, folder: string): string {
  return text
    .replaceAll(folder, "")
    .replaceAll(relative("/", folder), "")
    .replace(/[.\s]+$/, "");
}
