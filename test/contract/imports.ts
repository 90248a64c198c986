import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";

/** Folders whose imports are looked at. */
const FOLDERS = ["core", "plugins"];
/** `from "x"`, `import("x")` and `import "x"`: values and types alike. */
const IMPORT = /\bfrom\s*"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|^\s*import\s+"([^"]+)"/gm;
const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** Which source files each source file imports, by path: relative ones and, unless told otherwise, those by the package's own name. */
export function importGraph(
  folders: readonly string[] = FOLDERS,
  self: ReadonlyMap<string, string> = selfImports(),
  ending = /\.ts$/,
): ReadonlyMap<string, readonly string[]> {
  const files = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => sourcesIn(folder, ending));
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const text = readFileSync(file, "utf8").replaceAll(COMMENT, "");
      const imports = [...text.matchAll(IMPORT)].flatMap(([, a, b, c]) => {
        const name = a ?? b ?? c!;
        const path = name.startsWith(".") ? normalize(join(dirname(file), name)) : self.get(name);
        return path !== undefined && known.has(path) ? [path] : [];
      });
      return [file, [...new Set(imports)]];
    }),
  );
}

/** Sources below a folder. */
export function sourcesIn(folder: string, ending = /\.ts$/): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name) && !name.endsWith(".d.ts"))
    .filter((name) => !name.includes("node_modules"))
    .map((name) => join(folder, name));
}

/** `propylon/plugins/x` and the like, and the source that each is. */
export function selfImports(): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    exports: Record<string, string | Record<string, string>>;
  };
  return new Map(
    Object.entries(exports).flatMap(([path, target]) => {
      const source = typeof target === "string" ? undefined : target["@propylon/source"];
      return source === undefined ? [] : [[`propylon${path.slice(1)}`, normalize(source)] as const];
    }),
  );
}

/** The statements by which a file imports another one as it is loaded itself, those of types included; a call of `import` is none. */
export function importStatements(file: string, path: string): readonly string[] {
  const statements = readFileSync(file, "utf8").match(/^(?:import|export)\b[^;]*;/gm) ?? [];
  return statements.filter((statement) => statement.endsWith(`/${basename(path)}";`));
}

/** The circles of a graph: sets of files that all reach each other (Tarjan). */
export function circlesIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file)!);
    open.push(file);
    for (const next of graph.get(file) ?? []) {
      if (!order.has(next)) visit(next);
      if (open.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1 || graph.get(file)?.includes(file)) circles.push(circle);
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles;
}
