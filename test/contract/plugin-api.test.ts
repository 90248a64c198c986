import { expect, it } from "vitest";
import { expectPage, page } from "./page.ts";
import { publicNames, type PublicName } from "./plugin-api.ts";

const ENTRIES = {
  propylon: publicNames("dist/core/index.d.ts"),
  "propylon/kit": publicNames("dist/core/kit.d.ts"),
  "propylon/panels": publicNames("dist/plugins/admin/panel/index.d.ts"),
};

/** Beyond this a declaration is a schema, which has a page of its own. */
const LONGEST = 300;

function shorten(signature: string): string {
  const lines = signature.split("\n");
  if (lines.length <= LONGEST) return signature;
  return `${lines[0]!.replace(/\{$/, "{ ... }")} // see the reference of the config`;
}

function section({ name, signature, text, example }: PublicName): string {
  return [
    `### ${name}`,
    text,
    `\`\`\`ts\n${shorten(signature)}\n\`\`\``,
    "Example:",
    `\`\`\`ts\n${example}\n\`\`\``,
  ].join("\n\n");
}

it("docs/reference/plugin-api.md has every public name with its types, as built", () => {
  const parts = Object.entries(ENTRIES).map(([entry, names]) => {
    const sorted = names.toSorted((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    return [`## ${entry}`, ...sorted.map(section)].join("\n\n");
  });
  const intro =
    "What plugins and programs import, with the types as they are built. A change of this page is a change of the public API. `propylon` is what a gateway and a first plugin need; `propylon/kit` is what several plugins need beyond that; `propylon/panels` is for what a plugin shows in web interfaces. How they are used together: [write a plugin](../guide/write-a-plugin.md).";
  const content = page("Plugin API", intro, ...parts);
  expect(content.match(/^### /gm)).toHaveLength(Object.values(ENTRIES).flat().length);
  expectPage("plugin-api.md", content);
});

it("each public name says what it is, and shows it in use", () => {
  const silent = Object.values(ENTRIES)
    .flat()
    .filter(({ text, example = "" }) => text === "" || example === "");
  expect(silent.map(({ name }) => name)).toEqual([]);
});

it("the plugin context has at most 18 members", () => {
  const { signature } = ENTRIES.propylon.find(({ name }) => name === "PluginContext")!;
  const members = signature.matchAll(/^ {4}(?:readonly )?(\w+)[?:<(]/gm);
  const names = new Set([...members].map(([, name]) => name));
  expect(names.size).toBeGreaterThan(10);
  expect(names.size).toBeLessThanOrEqual(18);
});

it("a name has one meaning, whatever it is imported from", () => {
  const names = Object.values(ENTRIES)
    .flat()
    .map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

it("propylon has at most 84 names", () => {
  expect(ENTRIES.propylon.length).toBeLessThanOrEqual(84);
});
