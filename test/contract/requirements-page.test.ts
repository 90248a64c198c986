import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { citations, deferred, requirements, SOURCES } from "./contract.mjs";
import { expectPage, page, table } from "./page.ts";

it("docs/reference/requirements.md has every requirement with the tests that show it", () => {
  const cited = citations();
  const shownBy = (id: string): string => {
    const files = [...(cited.get(id) ?? [])].toSorted();
    if (files.length > 0) return files.map((file) => `\`test/${file}\``).join(", ");
    return deferred[id] === undefined ? "open" : `deferred: ${deferred[id]}`;
  };
  const parts = Object.entries(SOURCES).map(([letter, title]) => {
    const rows = requirements.filter(({ id }) => id.startsWith(letter));
    const lines = rows.map(({ id, text }) => [id, text, shownBy(id)]);
    return `## ${title}\n\n${table(["id", "demand", "shown by"], lines)}`;
  });
  const intro =
    "What the five specifications demand, and the tests whose titles cite it. Ids stand here and in test titles, nowhere else.";
  const content = page("Requirements", intro, ...parts);
  expect(content.match(/^\| [PRMTA]\d{3} \|/gm)).toHaveLength(requirements.length);
  expectPage("requirements.md", content);
});

/** Where people read: sources, the schema in their editor, the pages of the package. */
const READ = ["core", "plugins", "templates", "gateway.schema.json", "docs/guide", "docs/plugins"];
/** A requirement of the five sources, a resolution, a threat. */
const CODE = /(?<![\w-])(?:[PRMTA]\d{3}|[CT]\d{1,2}|PT\d{1,2})(?![\w-])/;
/** The kit's checks have these ids, and its reports show them: on its page, and in its code but not in comments. */
const CHECKS = "docs/guide/conformance.md";
const KIT = "plugins/conformance/";
const COMMENT = /^\s*(?:\/\*\*|\*|\/\/)/;

it("cites no requirement where people read", () => {
  const found = READ.flatMap(filesIn)
    .filter((file) => file !== CHECKS)
    .flatMap((file) =>
      readFileSync(file, "utf8")
        .split("\n")
        .flatMap((line, index) =>
          CODE.test(line) && (!file.startsWith(KIT) || COMMENT.test(line))
            ? [`${file}:${index + 1}: ${line.trim()}`]
            : [],
        ),
    );
  expect(found).toEqual([]);
});

function filesIn(path: string): readonly string[] {
  if (path.includes(".")) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => `${each.parentPath}/${each.name}`)
    .filter((file) => !/\/(?:dist|node_modules)\//.test(file));
}
