import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { expectPage, page } from "./page.ts";
import { publicNames, type PublicName } from "./plugin-api.ts";

const ENTRIES = {
  propylon: publicNames("dist/core/index.d.ts"),
  "propylon/kit": publicNames("dist/core/kit/index.d.ts"),
};

const sources = execFileSync("git", ["ls-files", "plugins/*.ts"], { encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "")
  .map((file) => ({ file, lines: readFileSync(file, "utf8").split("\n") }));

/** A line of a plugin that uses it. */
function usage(name: string): string | undefined {
  const used = new RegExp(`\\b${name}\\b`);
  for (const { file, lines } of sources)
    for (const line of lines)
      if (
        used.test(line) &&
        !/^\s*(import|export|\*|\/\/|type )|^\s*(type )?\w+,$|from "/.test(line)
      )
        return `// ${file}\n${line.trim()}`;
  return undefined;
}

/** Beyond this a declaration is a schema, which has a page of its own. */
const LONGEST = 200;

function shorten(signature: string): string {
  const lines = signature.split("\n");
  if (lines.length <= LONGEST) return signature;
  return `${lines[0]!.replace(/\{$/, "{ ... }")} // see the reference of the config`;
}

function section({ name, signature, text, example }: PublicName): string {
  const shown = example ?? usage(name);
  return [
    `### ${name}`,
    text,
    `\`\`\`ts\n${shorten(signature)}\n\`\`\``,
    ...(shown === undefined ? [] : ["Example:", `\`\`\`ts\n${shown}\n\`\`\``]),
  ].join("\n\n");
}

it("docs/reference/plugin-api.md has every public name with its types, as built", () => {
  const parts = Object.entries(ENTRIES).map(([entry, names]) => {
    const sorted = names.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    return [`## ${entry}`, ...sorted.map(section)].join("\n\n");
  });
  const intro =
    "What plugins and programs import, with the types as they are built. A change of this page is a change of the public API. `propylon` is what a gateway and a first plugin need; `propylon/kit` is what several plugins need beyond that. How they are used together: [write a plugin](../guide/write-a-plugin.md).";
  const content = page("Plugin API", intro, ...parts);
  expect(content.match(/^### /gm)).toHaveLength(Object.values(ENTRIES).flat().length);
  expectPage("plugin-api.md", content);
});

it("each public name says what it is", () => {
  const silent = Object.values(ENTRIES)
    .flat()
    .filter(({ text }) => text === "");
  expect(silent.map(({ name }) => name)).toEqual([]);
});

it("propylon has at most 85 names", () => {
  expect(ENTRIES.propylon.length).toBeLessThanOrEqual(85);
});
