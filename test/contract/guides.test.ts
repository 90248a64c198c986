import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { definePlugin, toGatewayError } from "propylon";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { isLocalPlugin } from "../../core/gateway/check/checks.ts";
import { issuesOf, issueText } from "../../core/config/issue.ts";
import { loadConfig } from "../../core/file/load.ts";
import { check } from "../../core/gateway/check/check.ts";
import type { PluginResolver } from "../../core/gateway/check/plugin-module.ts";
import { FIRST_PARTY } from "../../core/gateway/check/first-party.ts";
import { PluginSource } from "../../core/gateway/check/resolve.ts";
import { isCoreKey } from "../../core/gateway/check/sections.ts";
import { LEGACY_CLIENT_VERSIONS, MODERN_VERSIONS } from "../../plugins/mcp/message/protocol.ts";
import { dryRun } from "../../core/gateway/management/dry-run.ts";
import { makeFolder } from "../kit/folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["docs/guide", "docs/learn", "docs/plugins", "docs/decisions", "docs/reference"];

/** At the top of files of other programs: Kubernetes, Compose, Prometheus, Traefik. Steps of a CI are a list. */
const FOREIGN: ReadonlySet<string> = new Set([
  "apiVersion",
  "spec",
  "services",
  "scrape_configs",
  "http",
]);

/** Stands for what is set where the config of a page runs; long enough for a key. */
const VARIABLE = "a-value-from-the-environment-of-the-reader";

type Config = Readonly<Record<string, unknown>>;

interface Example {
  /** Page and line, as an editor opens it. */
  readonly place: string;
  readonly text: string;
}

let folder: string;
beforeAll(async () => {
  folder = makeFolder();
  // What the reader installed.
  await mkdir(join(folder, "node_modules"));
  await symlink(ROOT, join(folder, "node_modules/propylon"));
});

const examples = (await Promise.all((await pages()).map(examplesOf))).flat();

describe("an example of the documentation passes propylon check", () => {
  it.each(examples)("$place", async ({ place, text }) => {
    expect(await problemsOf(place, text)).toEqual([]);
  });

  it("finds what is wrong with one", async () => {
    const wrong = "servers:\n  files: { command: files, tiemout: 3s }\nplugins:\n  metrics: {}\n";
    expect(await problemsOf("wrong.md:1", wrong)).toEqual([
      expect.stringMatching(/:2:\d+ Unknown key "tiemout"/),
    ]);
    expect(
      await problemsOf("wrong.md:2", "plugins: { sidecar: { nats: { servers: x } } }"),
    ).toEqual([expect.stringContaining('"servers"')]);
  });
});

it("the upgrade page names every optional package with its range, and the versions of Node and MCP", async () => {
  const page = await readFile(join(ROOT, "docs/guide/upgrade.md"), "utf8");
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as Manifest;
  const rows = [...page.matchAll(/^\| `([^`]+)` +\| `([\^~>=\d.]+)` +\|/gm)];
  expect(Object.fromEntries(rows.map(([, name, range]) => [name, range]))).toEqual(
    manifest.peerDependencies,
  );
  expect(manifest.engines.node).toBe(`>=${/(\d+\.\d+) or newer/.exec(page)![1]}.0`);
  for (const version of [...MODERN_VERSIONS, ...LEGACY_CLIENT_VERSIONS])
    expect(page).toContain(version);
});

interface Manifest {
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

async function pages(): Promise<string[]> {
  const found = FOLDERS.map(async (path) =>
    (await readdir(join(ROOT, path)))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${path}/${name}`),
  );
  return ["README.md", ...(await Promise.all(found)).flat()];
}

async function examplesOf(page: string): Promise<Example[]> {
  const text = await readFile(join(ROOT, page), "utf8");
  return [...text.matchAll(/^```yaml\n([^]*?)^```/gm)]
    .map(({ 1: block, index }) => ({
      place: `${page}:${text.slice(0, index).split("\n").length}`,
      text: block!,
    }))
    .filter(({ text: block }) => !isForeign(block));
}

function isForeign(text: string): boolean {
  const value: unknown = parse(text);
  return Array.isArray(value) || Object.keys(value as object).some((key) => FOREIGN.has(key));
}

/** What `propylon check` would print, if the reader had the files that the example names. */
async function problemsOf(place: string, text: string): Promise<string[]> {
  const file = join(folder, `${place.replaceAll(/\W+/g, "-")}.yaml`);
  await writeFile(file, text + missingFrom(text));
  await provideFiles(text, place);
  try {
    const source = resolver(folder);
    const loaded = await loadConfig(file, { resolver: source, environment: variablesOf(text) });
    const checked = await check(loaded.config, source);
    const gateway = await dryRun(checked, loaded.cwd);
    await gateway.close({ grace: 0 });
    return loaded.warnings.map(issueText);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    const issues = issuesOf(error).map(issueText);
    return issues.length > 0 ? issues : [`${error.message} ${error.hint ?? ""}`];
  }
}

function variablesOf(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{(?:env:)?(\w+)\}/g)].map(([, name]) => name!);
  return Object.fromEntries(names.map((name) => [name, VARIABLE]));
}

/** What an example names and does not show, because it shows a part. */
function missingFrom(text: string): string {
  const { servers, mcpServers, agents, plugins, timeouts } = parse(text) as Config;
  const named = ["books", "files", "filesystem", "memory", "orders", "search"];
  const agent = /\bagent: (\w+)/.exec(text)?.[1];
  const hasAgents = agents !== undefined || (plugins as Config | undefined)?.["agents"];
  return [
    servers === undefined && mcpServers === undefined
      ? `\nservers: { ${named.map((name) => `${name}: { command: ${name} }`).join(", ")} }\n`
      : "",
    agent !== undefined && !hasAgents ? `\nagents: { ${agent}: { instructions: Hi. } }\n` : "",
    // The first example that needs a plugin waits until all of its source was compiled.
    timeouts === undefined ? "\ntimeouts: { setup: 2m }\n" : "",
  ].join("");
}

/** The files that the reader has beside the config: as the page shows them, or empty. */
async function provideFiles(text: string, place: string): Promise<void> {
  const page = await readFile(join(ROOT, place.replace(/:\d+$/, "")), "utf8").catch(() => "");
  for (const [path, ending] of text.matchAll(/\.\/[\w./-]+\.([cm]?[jt]s|md|yaml)\b/g)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    const [language, comment] = ending === "yaml" ? ["yaml", "#"] : ["ts", "//"];
    const shown = page
      .split(`\`\`\`${language}\n`)
      .find((code) => code.startsWith(`${comment} ${basename(path)}\n`));
    const content = shown?.split("```")[0] ?? (file.endsWith(".md") ? "Be brief.\n" : "");
    await writeFile(file, content);
  }
}

/** First-party plugins as they are; one of the reader's own takes every option, and the section of its name. */
function resolver(cwd: string): PluginResolver {
  const source = new PluginSource(cwd);
  return {
    names: source.names,
    resolve(key) {
      if (!isLocalPlugin(key) && FIRST_PARTY.includes(key)) return source.resolve(key);
      const name = key.replaceAll(/^.*\/|\.\w+$/g, "");
      const section = isCoreKey(name) ? {} : { section: name };
      return definePlugin({ name, ...section, config: z.looseObject({}), setup: () => {} });
    },
  };
}
