import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL("..", import.meta.url));
const TEST_FILE = /\.test(?:-d)?\.ts$/;
/** The title of an `it` or `test`, or of the second call of `it.each(table)(title, ...)`; `skip` and `todo` assert nothing. */
const TITLE = /(?:\b(?:it|test)((?:\.\w+)*)|\))\s*\(\s*(["'`])((?:\\.|(?!\2)[^\\])*)\2/gs;
const ID = /\b[PRMTA]\d{3}\b/g;

/** Title of each source document by the letter of its requirement ids. */
export const SOURCES = {
  P: "MCP interface",
  R: "runtime contract",
  M: "MCPO enhancement",
  T: "team auth",
  A: "agent MCP server",
};

const json = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));

/** Every requirement, in the order of its source. */
export const requirements = json("requirements.json");

/** Requirements that no test of ours will cite, with the reason. */
export const deferred = json("deferred.json");

/** Requirement ids in the test titles of a file's text. */
export function citationsIn(text) {
  return [...text.matchAll(TITLE)]
    .filter(([, modifiers]) => !/\.(?:skip|todo)\b/.test(modifiers ?? ""))
    .flatMap(([, , , title]) => title.match(ID) ?? []);
}

/** Test files by requirement id, from every test of the repository. */
export function citations() {
  const found = new Map();
  for (const file of testFiles(TESTS)) {
    for (const id of citationsIn(readFileSync(file, "utf8"))) {
      found.set(id, (found.get(id) ?? new Set()).add(relative(TESTS, file)));
    }
  }
  return found;
}

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules") return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return TEST_FILE.test(entry.name) ? [path] : [];
  });
}

/** Where each requirement stands: `cited`, `deferred` or `open`. */
export function standing(cited = citations()) {
  return requirements.map((requirement) => ({
    ...requirement,
    state: cited.has(requirement.id) ? "cited" : requirement.id in deferred ? "deferred" : "open",
  }));
}

/** Counts by state for each group that `groupsOf` names, as rows of a table. */
export function tally(list, groupsOf) {
  const rows = new Map();
  for (const requirement of list) {
    for (const group of groupsOf(requirement)) {
      const row = rows.get(group) ?? { group, cited: 0, deferred: 0, open: 0 };
      row[requirement.state]++;
      rows.set(group, row);
    }
  }
  return [...rows.values()];
}
