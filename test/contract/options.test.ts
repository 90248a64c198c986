import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { listOptions, type PluginOption } from "../../core/config/options.ts";
import { FIRST_PARTY, firstPartyPlugins } from "../../core/loading/first-party.ts";
import { parseDuration, parseSize } from "../../core/kit/units.ts";
import type { AnyPlugin } from "../../core/index.ts";
import type { z } from "zod";
import { expectText, table } from "./page.ts";
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

/** Old and present name of every option that was renamed, as somebody finds it in a config. */
function renamedOptions(plugins: readonly AnyPlugin[]): string[][] {
  return plugins.flatMap(({ name, formerOptions = {}, formerServerOptions = {} }) => [
    ...Object.entries(formerOptions).map(([before, now]) => [
      `\`plugins.${name}\``,
      `\`${before}\``,
      `\`${now}\``,
    ]),
    ...Object.entries(formerServerOptions).flatMap(([type, former]) =>
      Object.entries(former).map(([before, now]) => [
        `\`servers.<name>\` of \`type: ${type}\``,
        `\`${before}\``,
        `\`${now}\``,
      ]),
    ),
  ]);
}

describe("renamed options", async () => {
  const plugins = Object.values(await firstPartyPlugins());

  it("stand in the table of the upgrade page", () => {
    const rows = renamedOptions(plugins);
    expect(rows.length).toBeGreaterThan(40);
    const content = table(["below", "0.1.0", "now"], rows, { aligned: true });
    expectText("docs/guide/upgrade.md", (text) =>
      text.replace(
        /(<!-- renamed options -->\n)[^]*?(<!-- \/renamed options -->)/,
        (_, start: string, end: string) => `${start}\n${content}\n\n${end}`,
      ),
    );
  });

  it("have a present name that there is, and an old one that there is not", () => {
    const wrong = plugins.flatMap(({ config, serverTypes = {}, ...plugin }) => [
      ...wrongNames(config, plugin.formerOptions),
      ...Object.entries(serverTypes).flatMap(([type, schema]) =>
        wrongNames(schema, plugin.formerServerOptions?.[type]),
      ),
    ]);
    expect(wrong).toEqual([]);
  });

  it("are not named by a message or a page any more", () => {
    const former = plugins.flatMap(({ name, formerOptions = {} }) =>
      Object.keys(formerOptions).flatMap((option) => [
        `${name}.${option}`,
        ...(option.includes(".") ? [option] : []),
      ]),
    );
    const named = (text: string): string[] =>
      former.filter((option) =>
        new RegExp(`(?<![\\w./])(?:plugins\\.)?${escaped(option)}(?!\\w|\\.\\w)`).test(text),
      );
    expect(named("Raise plugins.events.streams, or tasks.size.")).toEqual([
      "tasks.size",
      "events.streams",
    ]);
    const found = [...pageTexts(), ...messageTexts()].flatMap(([place, text]) =>
      named(text).map((option) => `${place}: ${option}`),
    );
    expect(found).toEqual([]);
  });

  function wrongNames(
    schema: z.ZodType | undefined,
    former: Record<string, string> = {},
  ): string[] {
    const paths = new Set(listOptions(schema).map(({ path }) => path));
    return Object.entries(former)
      .filter(([before, now]) => paths.has(before) || !paths.has(now))
      .map((pair) => pair.join(" -> "));
  }
});

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Pages about the present: not those that tell the history. */
function pageTexts(): [place: string, text: string][] {
  const history = /^(?:decisions\/|benchmarks|reliability|guide\/upgrade|reference\/plugin-api)/;
  return filesOf("docs", ".md")
    .filter((name) => !history.test(name.replaceAll("\\", "/")))
    .map((name) => [name, readFileSync(`docs/${name}`, "utf8")]);
}

/** Strings of several words. */
function messageTexts(): [place: string, text: string][] {
  return ["core", "plugins"].flatMap((folder) =>
    filesOf(folder, ".ts").map((name): [string, string] => {
      const text = readFileSync(`${folder}/${name}`, "utf8");
      const source = text.replaceAll(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, "");
      const strings = source.match(/"[^"\n]* [^"\n]*"|`[^`\n]* [^`\n]*`/g) ?? [];
      return [`${folder}/${name}`, strings.join("\n")];
    }),
  );
}

function filesOf(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(ending),
  );
}

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
