import { existsSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Row {
  readonly number: string;
  readonly holds: string;
  readonly test: string;
}

/** What the page says that strangers broke. */
function readRows(): readonly Row[] {
  const page = readFileSync(`${ROOT}docs/reliability.md`, "utf8");
  const [, section = ""] = /\n## What strangers broke([\s\S]*?)(?=\n## |$)/.exec(page) ?? [];
  return section
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (?:number |-)/.test(line))
    .map((line) => {
      const [number = "", holds = "", test = ""] = line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.trim());
      return { number, holds, test };
    });
}

/** Paths of this checkout in a text; `{a,b}` stands for both. */
function pathsIn(text: string): readonly string[] {
  const found = text.match(/\b(?:test|docs|core|plugins)\/[\w./{},-]*\w/g) ?? [];
  return found.flatMap((path) => {
    const [, before = "", names, after = ""] = /^(.*)\{([^}]*)\}(.*)$/.exec(path) ?? [];
    return names === undefined ? [path] : names.split(",").map((name) => before + name + after);
  });
}

const escape = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** The titles of tests with values in them, such as `for %s`, as what they may be at a run. */
function templatesIn(source: string): readonly RegExp[] {
  const texts = source.match(/"[^"\n]*%[dijs][^"\n]*"/g) ?? [];
  return texts.map((text) => new RegExp(escape(text.slice(1, -1)).replaceAll(/%[dijs]/g, ".+")));
}

/** Titles that a row names and that stand in none of its files; `...` is for what it leaves out. */
function missingIn(row: Row): readonly string[] {
  const files = pathsIn(row.test).map((path) => ROOT + path);
  const source = files
    .filter((file) => existsSync(file) && statSync(file).isFile())
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
  const templates = templatesIn(source);
  const titles = [...row.test.matchAll(/"([^"]+)"/g)].map(([, title]) => title!);
  return titles.filter((title) => {
    const parts = title.split(/\.\.\.|…/).map((part) => part.trim());
    return !parts.every(
      (part) => source.includes(part) || templates.some((template) => template.test(part)),
    );
  });
}

describe.each(readRows())("row $number of what strangers broke", (row) => {
  it("names files that are there", () => {
    const paths = [...pathsIn(row.test), ...pathsIn(row.holds)];
    expect(paths.filter((path) => !existsSync(ROOT + path))).toEqual([]);
    expect(paths.length > 0 || row.holds.startsWith("not mended: ")).toBe(true);
  });

  it("names tests that are there", () => {
    expect(missingIn(row)).toEqual([]);
  });
});
