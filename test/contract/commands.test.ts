import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Command } from "commander";
import { expect, it } from "vitest";
import { addCommand } from "../../core/cli/program.ts";
import { firstPartyPlugins } from "../../core/gateway/check/first-party.ts";
import { DEFAULT_PLUGINS } from "../../core/config/defaults.ts";
import { COMMANDS } from "../../plugins/commands.ts";
import { startPropylon } from "../core/cli/propylon.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { makeFolder } from "../kit/folder.ts";

const MAIN = fileURLToPath(new URL("../../dist/plugins/cli.js", import.meta.url));

it("the table of the command line has what the plugins declare, word for word", async () => {
  const declared = Object.values(await firstPartyPlugins()).flatMap(({ commands = {} }) =>
    Object.entries(commands),
  );
  expect(declared.length).toBeGreaterThan(3);
  expect(Object.keys(COMMANDS).toSorted()).toEqual(declared.map(([name]) => name).toSorted());
  for (const [name, definition] of declared) {
    const known = COMMANDS[name]!;
    const program = new Command();
    addCommand(program, name, definition, undefined);
    const line = program.createHelp().subcommandTerm(program.commands[0]!);
    expect({ ...known, line: [name, known.usage].filter(Boolean).join(" ") }).toMatchObject({
      description: definition.description,
      line,
    });
    // The very one, so that nothing can be said twice.
    expect(await known.load()).toBe(definition);
  }
});

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The modules that a file below `dist` was made of; one that only hands on what others have is made of none, and has no map. */
async function modulesIn(file: string): Promise<string[]> {
  const map = await readFile(`${file}.map`, "utf8").catch(() => '{ "sources": [] }');
  const { sources } = JSON.parse(map) as { sources: string[] };
  return sources.map((source) => relative(ROOT, resolve(dirname(file), source)));
}

/** Modules that a run loads, from the coverage that Node writes. */
async function loadedBy(run: (env: Record<string, string>) => Promise<unknown>): Promise<string[]> {
  const folder = makeFolder();
  await run({ NODE_V8_COVERAGE: folder });
  const urls = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const { result } = JSON.parse(await readFile(join(folder, name), "utf8")) as {
        result: readonly { readonly url: string }[];
      };
      return result.map(({ url }) => url);
    }),
  );
  const files = urls
    .flat()
    .filter((url) => url.startsWith(pathToFileURL(join(ROOT, "dist/")).href));
  return (await Promise.all(files.map((url) => modulesIn(fileURLToPath(url))))).flat();
}

const pluginsIn = (files: readonly string[]): string[] =>
  files.filter((file) => file.startsWith("plugins/")).toSorted();

const OWN = ["plugins/cli.ts", "plugins/commands.ts"];

it(
  "the list of commands loads no plugin, and a command no other one",
  { timeout: PATIENCE * 60_000 },
  async () => {
    const run = (...words: string[]) =>
      loadedBy((env) =>
        promisify(execFile)(process.execPath, [MAIN, ...words], {
          env: { ...process.env, ...env },
          cwd: tmpdir(),
        }),
      );
    const help = await run("--help");
    expect(help).toContain("core/cli/main.ts");
    expect(pluginsIn(help)).toEqual(OWN);
    expect(pluginsIn(await run("sidecar", "--help"))).toEqual([
      ...OWN,
      "plugins/sidecar/commands.ts",
    ]);
  },
);

it("start loads the command of no plugin", async () => {
  const folder = makeFolder({ "gateway.yaml": "listeners: { main: { port: 0 } }\n" });
  const files = await loadedBy(async (env) => {
    const running = await startPropylon(["start"], { cwd: folder, env });
    expect(await running.stop()).toBe(0);
  });
  expect(files).toContain("core/gateway/gateway.ts");
  const byDefault = new RegExp(`^plugins/(?:${DEFAULT_PLUGINS.join("|")})/`);
  expect(files.some((file) => byDefault.test(file))).toBe(true);
  expect(pluginsIn(files).filter((file) => !byDefault.test(file))).toEqual(OWN);
});
