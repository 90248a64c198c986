import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TEMPLATES } from "../../templates/src/template.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { makeFolder } from "../kit/folder.ts";
import { cleanEnvironment, create, listFiles, openCreator, ROOT, run } from "./creator.ts";

const creator = openCreator();

const read = (path: string): string => readFileSync(join(creator.folder, path), "utf8");

/** npm as it is where nothing but the tarball is at hand: a cache of its own, and no registry. */
function offline(folder: string): NodeJS.ProcessEnv {
  return cleanEnvironment({
    npm_config_cache: join(folder, "cache"),
    npm_config_registry: "http://127.0.0.1:1/",
    npm_config_fetch_retries: "0",
    npm_config_update_notifier: "false",
  });
}

describe("the package", () => {
  it("has the program, every template, what npm wants to show, and nothing else", () => {
    const folders = new Set(creator.files.map((path) => path.split("/")[0]!));
    expect([...folders].toSorted()).toEqual(
      [
        "LICENSE",
        "README.md",
        "cluster",
        "dist",
        "package.json",
        "shared",
        ...TEMPLATES.map(({ name }) => name),
      ].toSorted(),
    );
    expect(creator.files.filter((path) => path.startsWith("dist/"))).toEqual([
      "dist/THIRD-PARTY.txt",
      "dist/create-gateway.mjs",
    ]);
    const leftovers = /node_modules|(?:^|\/)\.|_state\.json|\.log$|\.map$|package-lock|\.output/;
    expect(creator.files.filter((path) => leftovers.test(path))).toEqual([]);
    expect(statSync(creator.tarball).size).toBeLessThan(150_000);
  });

  it("has the files whose names npm would keep back under names of their own", () => {
    expect(creator.files).toEqual(
      expect.arrayContaining([
        "minimal/_env.example",
        "plugin/_gitignore",
        "plugin/_npmrc",
        "shared/_dockerignore",
        "shared/_gitignore",
        "shared/_mcp.json",
        "shared/_npmrc",
      ]),
    );
  });

  it("needs no other package: only modules of Node are imported", () => {
    const manifest = JSON.parse(read("package.json")) as Record<string, unknown>;
    expect(manifest["dependencies"]).toBeUndefined();
    expect(manifest["version"]).toBe(
      (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version,
    );
    const program = read("dist/create-gateway.mjs");
    expect(program.startsWith("#!/usr/bin/env node\n")).toBe(true);
    const imported = [...program.matchAll(/(?:\}from|\bimport)\s*\(?["'`]([\w@:/.-]+)["'`]/g)];
    expect(imported.length).toBeGreaterThan(3);
    expect(imported.map(([, name]) => name).filter((name) => !name!.startsWith("node:"))).toEqual(
      [],
    );
    expect(program).not.toContain(ROOT);
  });

  it("has the licence of every package whose code is in the program, and its own", () => {
    const notices = read("dist/THIRD-PARTY.txt");
    const named = [...notices.matchAll(/^(\S+) \d[\w.-]* \((\w+)\)$/gm)];
    expect(named.map(([, name]) => name)).toEqual(
      expect.arrayContaining(["@clack/core", "@clack/prompts", "sisteransi", "yaml"]),
    );
    expect(new Set(named.map(([, , licence]) => licence))).toEqual(new Set(["MIT", "ISC"]));
    expect(notices.match(/Copyright/g)!.length).toBeGreaterThanOrEqual(named.length);
    expect(read("LICENSE")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
  });

  it("its page names every template and every option, and --help does", async () => {
    const page = read("README.md");
    const { code, stdout: help } = await create(creator, makeFolder(), ["--help"]);
    const options = [...help.matchAll(/--(?:\[no-\])?([a-z-]+)(?= |$)/gm)].map(([, name]) => name!);
    expect(code).toBe(0);
    expect(options).toEqual(
      expect.arrayContaining(["template", "import", "with", "install", "start", "yes", "json"]),
    );
    for (const { name } of TEMPLATES) {
      expect(page).toContain(`\`${name}\``);
      expect(help).toContain(name);
    }
    const shown = options.filter((name) => !["help", "version"].includes(name));
    for (const name of shown) expect(page).toMatch(new RegExp(`--(?:\\[no-\\])?${name}\\b`));
    const version = await create(creator, makeFolder(), ["-v"]);
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  it(
    "npm exec runs the tarball where nothing else can be reached",
    { timeout: PATIENCE * 60_000 },
    async () => {
      const folder = makeFolder();
      const words = [
        `--package=${creator.tarball}`,
        "--",
        "create-gateway",
        "gw",
        "--yes",
        "--json",
      ];
      const env = offline(folder);
      const { code, stdout } = await run("npm", ["exec", "--yes", ...words], { cwd: folder, env });
      expect(code).toBe(0);
      const { files, manager } = JSON.parse(stdout) as { files: string[]; manager: string };
      expect(manager).toBe("npm");
      expect(listFiles(join(folder, "gw"))).toEqual(files);
    },
  );

  it("npm init gateway and npm create gateway find it", async () => {
    const folder = makeFolder();
    const env = offline(folder);
    const npm = (...words: string[]) => run("npm", words, { cwd: folder, env });
    await npm("install", "--no-save", "--no-audit", "--no-fund", creator.tarball);
    const made = await npm("init", "gateway", "one", "--", "--yes", "--template", "plugin");
    expect([made.code, existsSync(join(folder, "one/src/index.ts"))]).toEqual([0, true]);
    const other = await npm("create", "gateway", "two", "--", "--yes", "--no-git");
    expect([other.code, existsSync(join(folder, "two/gateway.yaml"))]).toEqual([0, true]);
    expect(other.stdout).toContain("  cd two\n  npm install\n  npm start\n");
  });
});
