import { readFile } from "node:fs/promises";
import { parseDuration } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { type PluginOption } from "../../core/cli/plugin-options.ts";
import { FIRST_PARTY, firstPartyPlugins } from "../../core/gateway/check/first-party.ts";
import { parseSize } from "../../core/kit/units.ts";
import { expectText } from "./page.ts";
import { optionsOfPage, optionTable } from "./reference-config.ts";

const PAGES = new URL("../../docs/plugins/", import.meta.url);

/** A row of an option table: the code spans of its first cell, and its cell of defaults. */
interface Row {
  readonly names: readonly string[];
  readonly standard: string;
}

/** The rows of every table of a page whose first column is `option`. */
function rowsOf(text: string): readonly Row[] {
  const tables = text.match(/(?:^\|.*\n)+/gm) ?? [];
  return tables
    .map((each) => each.trim().split("\n").map(cellsOf))
    .filter(([head]) => /^option/i.test(head![0]!))
    .flatMap(([head, , ...lines]) => {
      const at = head!.indexOf("default");
      return lines.map((cells) => ({
        names: [...cells[0]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
        standard: cells[at] ?? "",
      }));
    });
}

function cellsOf(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Whether somebody who reads the page finds the option: in a table, or named in code. */
function isTold({ path }: PluginOption, rows: readonly Row[], text: string): boolean {
  if (rows.some(({ names }) => names.includes(path))) return true;
  const key = path.split(".").at(-1)!;
  const codes = text.match(/```[^]*?```|`[^`\n]+`/g) ?? [];
  return codes.some((code) => code.split(/[^\w]+/).includes(key));
}

/** The options that a row may be about: of one below a name or in a list the page gives the key alone. */
function meant(name: string, options: readonly PluginOption[]): readonly PluginOption[] {
  const exact = options.filter(({ path }) => path === name);
  return exact.length > 0 ? exact : options.filter(({ path }) => path.endsWith(`.${name}`));
}

/** Whether a cell names a default; what has no short form, such as a list, is told in words. */
function namesDefault(cell: string, { default: value }: PluginOption): boolean {
  if (value === undefined || (typeof value === "object" && value !== null)) return true;
  const written = typeof value === "string" ? value : JSON.stringify(value);
  if (written === "") return cell.includes('""');
  const words = cell.split(/[`,;()\s]+/);
  return words.some((word) => word === written || isSameAmount(word, written));
}

function isSameAmount(left: string, right: string): boolean {
  const amounts = [parseSize, (text: string) => parseDuration(text, "s")];
  return amounts.some((of) => of(right) !== undefined && of(left) === of(right));
}

/** A generated table of a page: all options, or those of the groups that it names. */
const BLOCK = /(<!-- options(?: (\S+))? -->\n)[^]*?(<!-- \/options -->)/g;

/** A page with its tables of options written anew; an option stands in that of the longest group that it is in. */
function withTables(text: string, options: readonly PluginOption[]): string {
  const groups = [...text.matchAll(BLOCK)].map(([, , group = ""]) => group);
  const groupOf = ({ path }: PluginOption): string =>
    groups
      .filter((group) => path.startsWith(group))
      .toSorted((left, right) => right.length - left.length)[0] ?? "";
  return text.replaceAll(BLOCK, (_, start: string, group = "", end: string) => {
    const rows = options.filter((option) => groupOf(option) === group);
    return `${start}\n${optionTable(rows)}\n\n${end}`;
  });
}

describe("tables of options", async () => {
  const plugins = Object.values(await firstPartyPlugins());
  it.each(FIRST_PARTY)("docs/plugins/%s.md has the table of its options", (name) => {
    const options = optionsOfPage(name, plugins);
    const silent = options.filter(({ description }) => description === undefined);
    expect(silent.map(({ path }) => path)).toEqual([]);
    expectText(`docs/plugins/${name}.md`, (text) => {
      expect(text.includes("<!-- options")).toBe(options.length > 0);
      return withTables(text, options);
    });
  });
});

describe.each(FIRST_PARTY)("docs/plugins/%s.md", (name) => {
  it("tells every option and no other, each with its default", async () => {
    const options = optionsOfPage(name, Object.values(await firstPartyPlugins()));
    const text = await readFile(new URL(`${name}.md`, PAGES), "utf8");
    const rows = rowsOf(text);
    const untold = options.filter((option) => !isTold(option, rows, text)).map(({ path }) => path);
    const named = rows.flatMap(({ names }) => names);
    const unknown = named.filter((each) => meant(each, options).length === 0);
    const wrong = rows.flatMap(({ names, standard }) =>
      names.filter(
        (each) => !meant(each, options).some((option) => namesDefault(standard, option)),
      ),
    );
    expect({ untold, unknown, wrong: wrong.filter((each) => !unknown.includes(each)) }).toEqual({
      untold: [],
      unknown: [],
      wrong: [],
    });
  });
});

it("finds what is missing, made up or wrong", () => {
  const option = {
    path: "keep.age",
    default: "1d",
    description: "",
    required: false,
    shapes: [],
  };
  const page = "| option | default |\n| --- | --- |\n| `keep.age` | `24h` |\n| `kept` | `2d` |\n";
  const [age, kept] = rowsOf(page);
  expect(age).toEqual({ names: ["keep.age"], standard: "`24h`" });
  expect(namesDefault(age!.standard, option)).toBe(true);
  expect(namesDefault(kept!.standard, option)).toBe(false);
  expect(meant("kept", [option])).toEqual([]);
  expect(isTold(option, [age!], page)).toBe(true);
  expect(isTold(option, [kept!], "Of an age.")).toBe(false);
});
