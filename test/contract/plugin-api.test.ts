import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { expectPage, page } from "./page.ts";
import { type Group, type PublicName, readDoor } from "./plugin-api.ts";
import { LIFE } from "./plugin-life.ts";

const API = readDoor("propylon");
const INTERNAL = readDoor("propylon/internal");
/** Doors with a promise, beside `propylon`, with what they are for. */
const MORE: readonly (readonly [door: string, text: string, groups: readonly Group[]])[] = [
  ["propylon/kit", "What several plugins need, and a first one does not."],
  [
    "propylon/store",
    "What outlives the process: for plugins that keep something, and for drivers. `testStore` of `propylon/testing` proves a driver.",
  ],
  [
    "propylon/process",
    "Children that end with the gateway, and what a process is told by its environment.",
  ],
  ["propylon/panels", "What a plugin shows in web interfaces."],
].map(([door, text]) => [door!, text!, readDoor(door!)] as const);

const PROMISED = [API, ...MORE.map(([, , groups]) => groups)].flatMap(namesIn);

/** Beyond this a declaration is a schema, which has a page of its own. */
const LONGEST_DECLARATION = 300;
/** Columns of a signature that stands in a line of a list. */
const LONGEST_SIGNATURE = 110;

function namesIn(groups: readonly Group[]): readonly PublicName[] {
  return groups.flatMap(({ names }) => names);
}

function shorten(signature: string): string {
  const lines = signature.split("\n");
  if (lines.length <= LONGEST_DECLARATION) return signature;
  return `${lines[0]!.replace(/\{$/, "{ ... }")} // see the reference of the config`;
}

/** A name in full. */
function section({ name, signature, text, example }: PublicName): string {
  const code = `\`\`\`ts\n${shorten(signature)}\n\n// Example\n${example}\n\`\`\``;
  return [`#### ${name}`, text, code].join("\n\n");
}

/** A name in one line: its signature if that is short, and the first sentence about it. */
function line({ name, signature, text }: PublicName): string {
  const call = /^function (.+);$/.exec(signature)?.[1];
  const shown = call !== undefined && call.length <= LONGEST_SIGNATURE ? call : name;
  return `- \`${shown}\`: ${firstSentence(text)}`;
}

function firstSentence(text: string): string {
  return /^[^]*?(?<!\be\.g|\bi\.e)[.?!](?=\s|$)/.exec(text)?.[0] ?? text;
}

/** A group of names in full. */
function chapter({ title, names }: Group): string {
  return [`### ${title}`, ...names.map(section)].join("\n\n");
}

/** A group of names as a list. */
function listOf({ title, names }: Group): string {
  return (title === "" ? "" : `**${title}**\n\n`) + names.map(line).join("\n");
}

/** A group of names and nothing else. */
function bareList({ title, names }: Group): string {
  return `- **${title}**: ${names.map(({ name }) => `\`${name}\``).join(", ")}`;
}

function writePage(): string {
  const life = Object.values(LIFE).map((sentence, at) => `${at + 1}. ${sentence}`);
  return page(
    "Plugin API",
    "What plugins and programs import. A change of this page is a change of the public API. `propylon` stands here in full, in the order in which a plugin meets it; of the other doors this page has the names, and an editor shows their comments with examples. How to use it: [write a plugin](../guide/write-a-plugin.md), and [what a plugin can do](writing-plugins.md).",
    "## The life of a plugin",
    life.join("\n"),
    "## propylon",
    ...API.map(chapter),
    ...MORE.flatMap(([door, text, groups]) => [`## ${door}`, text, ...groups.map(listOf)]),
    "## propylon/internal",
    "For the plugins that come along: the parts of endpoints, servers and logins that they share with the core. Any version, a patch too, may change or remove what is here. A plugin of yours that imports it needs exactly the version that it was written for.",
    INTERNAL.map(bareList).join("\n"),
  );
}

it("docs/reference/plugin-api.md has every public name, as built, and can be read", () => {
  const content = writePage();
  expect(content.match(/^#### /gm)).toHaveLength(namesIn(API).length);
  expect(content.split("\n").length).toBeLessThanOrEqual(2_000);
  expectPage("plugin-api.md", content);
});

it("each public name says what it is, and shows it in use", () => {
  const silent = PROMISED.filter(({ text, example = "" }) => text === "" || example === "");
  expect(silent.map(({ name }) => name)).toEqual([]);
  const bare = namesIn(INTERNAL).filter(({ text }) => text === "");
  expect(bare.map(({ name }) => name)).toEqual([]);
});

it("the plugin context has at most 18 members", () => {
  const { signature } = PROMISED.find(({ name }) => name === "PluginContext")!;
  const members = signature.matchAll(/^ {4}(?:readonly )?(\w+)[?:<(]/gm);
  const names = new Set([...members].map(([, name]) => name));
  expect(names.size).toBeGreaterThan(10);
  expect(names.size).toBeLessThanOrEqual(18);
});

it("a name has one meaning, whatever it is imported from", () => {
  const names = [...PROMISED, ...namesIn(INTERNAL)].map(({ name }) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

it.each([
  ["propylon", 70],
  ["propylon/kit", 110],
] as const)("%s has at most %i names", (door, most) => {
  expect(namesIn(readDoor(door)).length).toBeLessThanOrEqual(most);
});

it("what is internal is imported by plugins that come along, and shown to nobody", () => {
  const importedIn = (folders: readonly string[]): ReadonlySet<string> =>
    new Set(folders.flatMap(textsIn).flatMap(internalNames));
  const own = importedIn(["plugins"]);
  expect(
    namesIn(INTERNAL)
      .filter(({ name }) => !own.has(name))
      .map(({ name }) => name),
  ).toEqual([]);
  expect([...importedIn(["docs/guide", "docs/learn", "templates", "playground"])]).toEqual([]);
});

function textsIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:tsx?|mjs|md)$/.test(name) && !/node_modules|dist/.test(name))
    .map((name) => readFileSync(`${folder}/${name}`, "utf8"));
}

function internalNames(text: string): readonly string[] {
  const imports = text.matchAll(
    /(?:import|export)(?: type)? \{([^}]*)\} from "propylon\/internal"/g,
  );
  return [...imports].flatMap(([, names]) =>
    names!.split(",").map((each) => each.trim().replace(/^type | as .*/g, "")),
  );
}
