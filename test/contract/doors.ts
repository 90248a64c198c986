import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { selfImports, sourcesIn } from "./imports.ts";

/** Doors for everybody, those that a test takes first in front. */
const DOORS = ["", "/kit", "/store", "/process", "/testing", "/cli", "/contract", "/panels"];

const LISTS = /^export\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"(\.[^"]+)";/gm;
const OWN =
  /^export\s+(?:default\s+)?(?:declare\s+|abstract\s+|async\s+)*(?:const|let|function\*?|class|interface|type|enum)\s+(\w+)/gm;

/** An import of names by a relative path: `import { a, type B as C } from "../../core/x.ts";`. */
export interface NamedImport {
  readonly names: readonly string[];
  /** Of the source, from the root of the repository. */
  readonly path: string;
}

/** The imports of core and plugins by their paths. */
export function pathImports(file: string): readonly NamedImport[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/^import\s+(?:type\s+)?\{([^}]*)\}\s*from\s*"(\.[^"]+)";\n/gm)]
    .map(([, names, path]) => ({
      names: listOf(names!),
      path: normalize(join(dirname(file), path!)),
    }))
    .filter(({ path }) => /^(?:core|plugins)\/.*\.ts$/.test(path) && !path.includes("/web/"));
}

/** Where a name of a source file is exported for everybody, by `path#name`. */
export function doorsOf(): ReadonlyMap<string, string> {
  const self = selfImports();
  const plugins = [...self.keys()].filter((name) => name.startsWith("propylon/plugins/"));
  const doors = new Map<string, string>();
  for (const door of [...DOORS.map((name) => `propylon${name}`), ...plugins])
    for (const [name, origin] of exportsOf(self.get(door)!))
      if (origin.endsWith(`#${name}`) && !doors.has(origin)) doors.set(origin, door);
  return doors;
}

/** What a file exports by its own text or by lists of others, and where each name stands: `path#name`. */
function exportsOf(file: string): ReadonlyMap<string, string> {
  const known = EXPORTS.get(file) ?? readExports(file);
  EXPORTS.set(file, known);
  return known;
}

const EXPORTS = new Map<string, ReadonlyMap<string, string>>();

function readExports(file: string): ReadonlyMap<string, string> {
  const text = readFileSync(file, "utf8");
  const found = new Map<string, string>();
  for (const [, name] of text.matchAll(OWN)) found.set(name!, `${file}#${name}`);
  for (const [, names, path] of text.matchAll(LISTS)) {
    const source = exportsOf(normalize(join(dirname(file), path!)));
    for (const item of listOf(names!)) {
      const [name, as = name] = item.replace(/^type /, "").split(" as ");
      found.set(as!, source.get(name!) ?? `${path}#${name}`);
    }
  }
  return found;
}

const listOf = (names: string): readonly string[] =>
  names
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);

/** The name that an item of a list imports. */
export const importedName = (item: string): string => item.replace(/^type /, "").split(" as ")[0]!;

/** Where an imported name really stands: a source may hand on what another one has. */
export function originOf({ path }: NamedImport, item: string): string {
  return exportsOf(path).get(importedName(item)) ?? `${path}#${importedName(item)}`;
}

export const testFiles = (): readonly string[] =>
  sourcesIn("test").filter((file) => !file.startsWith("test/conformance/"));
