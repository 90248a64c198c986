import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Schemas of what an operator writes, and of the program that examines others: no stranger chooses their size. */
const OWN =
  /^core\/(?:config|gateway\/check)\/|\/options\.ts$|^plugins\/conformance\/|\/web\/|^core\/kit\/(?:bounded-record|headers)\.ts$|^plugins\/admin\/panel\/schema\.ts$|^plugins\/servers\/(?:entry|server-auth)\.ts$/;

/** What is checked once, of the operator or the program itself. */
const ONCE: ReadonlySet<string> = new Set([
  "core/gateway/setup.ts",
  "plugins/admin/panel/check.ts",
  "core/kit/check-shape.ts",
  "plugins/mcp/view/view.ts",
]);

const sources = ["core", "plugins"]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  )
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts") && !OWN.test(path));

/** Where a bracket that is open at a place closes. */
function closing(text: string, open: number): number {
  let depth = 1;
  let at = open;
  for (; depth > 0; at++) {
    if ("([{".includes(text[at]!)) depth++;
    if (")]}".includes(text[at]!)) depth--;
  }
  return at;
}

/** Lists and maps in the schemas of a text that have no maximum, by their lines. */
function unbounded(text: string): number[] {
  const found = [...text.matchAll(/\.array\(|\bz\s*\.(?:record|map|set)\(/g)];
  return found.flatMap(({ index, 0: begin }) => {
    const end = closing(text, index + begin.length);
    const isBounded =
      begin === ".array(" && /^\s*(?:\.min\([^)]*\)\s*)?\.max\(/.test(text.slice(end));
    return isBounded ? [] : [text.slice(0, index).split("\n").length];
  });
}

/** Checks of schemas in a text that go on behind the first problem, by their lines. */
function endless(text: string): number[] {
  return [...text.matchAll(/[sS]chema\)?\s*\.(?:safeParse|parse)\(/g)].flatMap(
    ({ index, 0: begin }) => {
      const start = index + begin.length;
      const words = text.slice(start, closing(text, start));
      return words.includes("FIRST_PROBLEM") ? [] : [text.slice(0, index).split("\n").length];
    },
  );
}

it("issue line 1: every list and map in a schema of something that arrives has a maximum", () => {
  const places = sources.flatMap((path) =>
    unbounded(readFileSync(path, "utf8")).map((line) => `${path}:${line}`),
  );
  expect(sources.length).toBeGreaterThan(700);
  expect(places).toEqual([]);
});

it("issue line 1: every check of something that arrives stops at the first problem, or is bounded", () => {
  const places = sources
    .filter((path) => !ONCE.has(path))
    .flatMap((path) => endless(readFileSync(path, "utf8")).map((line) => `${path}:${line}`));
  expect(places).toEqual([]);
});

it("finds what has none", () => {
  expect(unbounded("const a = z.array(z.object({ b: z.array(z.string()).max(2) }));")).toEqual([1]);
  expect(unbounded("x\nz\n  .record(z.string(), z.unknown())")).toEqual([2]);
  expect(unbounded("z.array(z.string()).min(1).max(5).optional()")).toEqual([]);
  expect(endless("newsSchema.safeParse(news)\n\nnewsSchema.parse(\n news, FIRST_PROBLEM)")).toEqual(
    [1],
  );
});
