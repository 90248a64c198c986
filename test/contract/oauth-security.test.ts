import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const PAGE = "docs/reference/oauth-security.md";
const ROLES: ReadonlySet<string> = new Set([
  "authorization server",
  "client",
  "resource server",
  "all",
]);

/** How many rows with `must` a section has at least: one for each sentence that demands something of us, read in the RFC itself. */
const DEMANDS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "RFC 8725": {
    "3.1": 5, "3.2": 2, "3.3": 3, "3.4": 1, "3.5": 2, "3.7": 1, "3.8": 3, "3.9": 3, "3.11": 1, "3.12": 1,
  },
  "RFC 9700": {
    "2.1": 7, "2.1.1": 7, "2.2.2": 1, "2.3": 1, "2.4": 1, "2.6": 4, "3": 1,
    "4.1.3": 3, "4.2.4": 1, "4.3.2": 1, "4.4.2": 2, "4.4.2.1": 4, "4.4.2.2": 2, "4.5.3.2": 2, "4.7.1": 3, "4.8.2": 3,
    "4.9.3": 2, "4.11.1": 1, "4.11.2": 3, "4.12": 1, "4.13": 2, "4.14.2": 4, "4.15.1": 1, "4.16": 1, "4.17.2": 2,
  },
}; // prettier-ignore

interface Row {
  readonly rfc: string;
  readonly section: string;
  readonly level: string;
  readonly role: string;
  readonly texts: readonly string[];
  /** Files with the titles of their tests. */
  readonly tests: readonly (readonly [file: string, title: string])[];
}

const ROWS = readRows(readFileSync(PAGE, "utf8"));

describe.each(Object.entries(DEMANDS))("%s", (rfc, sections) => {
  it.each(Object.entries(sections))("section %s has a row for each demand", (section, count) => {
    const rows = ROWS.filter((row) => row.rfc === rfc && row.section === section);
    expect(rows.filter(({ level }) => level === "must").length).toBeGreaterThanOrEqual(count);
  });

  it("has no row of a section that nobody counted", () => {
    const musts = ROWS.filter((row) => row.rfc === rfc && row.level === "must");
    expect(musts.filter(({ section }) => !(section in sections))).toEqual([]);
  });
});

it("each row says what is demanded, of whom, what the gateway does, and which test shows it", () => {
  expect(ROWS.length).toBeGreaterThan(80);
  const isWhole = ({ level, role, texts, tests }: Row): boolean =>
    ["must", "should"].includes(level) &&
    role.split(", ").every((each) => ROLES.has(each)) &&
    texts.every((text) => text.length > 10) &&
    tests.length > 0;
  expect(ROWS.filter((row) => !isWhole(row))).toEqual([]);
});

it("each test of the table is there, with its title", () => {
  const named = ROWS.flatMap(({ tests }) => tests);
  expect(named.filter(([file, title]) => !isTest(file, title))).toEqual([]);
});

it("finds a test that is not there, and a row without one", () => {
  const [file] = ROWS[0]!.tests[0]!;
  expect(isTest(file, "a title that no test has")).toBe(false);
  expect(isTest("test/plugins/oauth/none.test.ts", "x")).toBe(false);
  const rows = readRows("## RFC 1: x\n| 2.1 | must | client | one | two |  |\n");
  expect(rows).toMatchObject([{ rfc: "RFC 1", section: "2.1", tests: [] }]);
});

/** The rows of the tables, each below the heading of its RFC. */
function readRows(page: string): readonly Row[] {
  return page.split(/^## (?=RFC)/m).flatMap((part) => {
    const rfc = /^RFC \d+/.exec(part)?.[0];
    const lines = part.match(/^\| +\d[\d.]* +\|.*\|$/gm) ?? [];
    return rfc === undefined ? [] : lines.map((line) => readRow(rfc, line));
  });
}

function readRow(rfc: string, line: string): Row {
  const cells = line.split("|").slice(1, -1);
  const [section, level, role, demand, done, tests] = cells.map((cell) => cell.trim());
  const named = [...tests!.matchAll(/`(test\/[^`]+)`: "([^"]+)"/g)];
  return {
    rfc,
    section: section!,
    level: level!,
    role: role!,
    texts: [demand!, done!],
    tests: named.map(([, file, title]) => [file!, title!] as const),
  };
}

/** Whether a file has a test of a title: `…` on the page is a value in the file, and ids before it in the file are for us alone. */
function isTest(file: string, title: string): boolean {
  if (!existsSync(file)) return false;
  const escaped = title
    .replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll("…", String.raw`(?:%[sj]|\$\{\w+\})`);
  return new RegExp(`["'\`](?:[\\w ,-]{1,60}: )?${escaped}["'\`]`).test(readFileSync(file, "utf8"));
}
