import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../kit/folder.ts";
import { cleanEnvironment, create, listFiles, openCreator, run } from "./creator.ts";

const creator = openCreator();

/** Every sentence on standard error, and no trace of where it came from. */
function expectSentence(stderr: string): void {
  expect(stderr).toMatch(/^[^\n]+\.\n$/);
  expect(stderr).not.toMatch(/\bat .*:\d+:\d+|node:internal|\.mjs/);
}

describe("wrong use", () => {
  it.each<[string[], RegExp]>([
    [["a", "b"], /^Give one directory; there are 2\. See --help\.$/],
    [["--templat", "minimal"], /^Unknown option '--templat'\. See --help\.$/],
    [["--template"], /argument missing.*See --help\.$/],
    [["--template", "maximal"], /^There is no template "maximal"\. There are: minimal, /],
    [["--pm", "pip"], /^--pm must be one of npm, pnpm, yarn, bun\.$/],
    [
      ["--with", "docker,helm"],
      /^--with knows docker, compose, kubernetes, postgres, workers, cluster and none/,
    ],
    [[""], /^The directory has no name\. See --help\.$/],
    [["My Gateway"], /"My Gateway" cannot be .* add --name my-gateway\.$/],
    [["Grüße.org"], /add --name gru-e-org\.$/],
    [["日本"], /add --name my-gateway\.$/],
    [["no"], /"no" cannot be .* add --name no-gateway\.$/],
    [["007"], /"007" cannot be /],
    [["a".repeat(64)], /add --name a{63}\.$/],
    [["gw", "--name", "Gate Way"], /or try gate-way\.$/],
    [["propylon"], /^A project that installs propylon cannot be called propylon\. Add --name\.$/],
    [["gw", "--import", "missing.json"], /missing\.json does not exist\. Check the path/],
    [["gw", "--import", "."], / is a folder\. Give the file in it/],
    [["p", "-t", "plugin", "--start"], /^--start is for gateways, not for plugins/],
    [["p", "-t", "plugin", "--with", "docker"], /^--with is for gateways/],
    [["p", "-t", "plugin", "--with", "postgres"], /^--with is for gateways/],
    [["gw", "--with", "postgres", "--start"], /^--start cannot start the database of --with/],
    [["gw", "-t", "a2a-runtime", "--with", "workers"], /^--with workers is not for a2a-runtime/],
    [["gw", "-t", "team-console", "--with", "workers"], /^--with workers needs postgres/],
    [["gw", "--with", "workers,cluster"], /^--with workers is for one machine/],
    [["p", "-t", "plugin", "--production"], /^--production is for gateways/],
    [["p", "-t", "plugin", "--import", "x.json"], /^--import is for gateways/],
  ])("%j: a sentence, exit code 1, nothing written", async (words, sentence) => {
    const folder = makeFolder();
    const { code, stdout, stderr } = await create(creator, folder, words);
    expect(stderr.trim()).toMatch(sentence);
    expectSentence(stderr);
    expect([code, stdout]).toEqual([1, ""]);
    expect(listFiles(folder)).toEqual([]);
  });

  it("is told as JSON where JSON is asked for", async () => {
    const { code, stdout, stderr } = await create(creator, makeFolder(), ["X", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ error: stderr.trim() });
  });

  it("a bug is called one, and shows where it is only with DEBUG", async () => {
    const folder = makeFolder();
    const broken = { ...creator, program: join(folder, "dist/create-gateway.mjs") };
    mkdirSync(join(folder, "dist"));
    writeFileSync(join(folder, "package.json"), '{ "version": "1.0.0" }');
    writeFileSync(broken.program, readFileSync(creator.program));
    const plain = await create(broken, folder, ["gw", "--yes"]);
    expect(plain.code).toBe(1);
    expect(plain.stderr).toMatch(
      /^This is a bug in create-gateway: ENOENT[^\n]*DEBUG=1 is set\.\n$/,
    );
    const debug = await create(broken, folder, ["gw", "--yes"], { DEBUG: "1" });
    expect(debug.stderr).toMatch(/\n {4}at /);
  });
});

describe("a place", () => {
  it("that is not empty is refused, and overwritten when asked", async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, "gw"));
    writeFileSync(join(folder, "gw/README.md"), "mine");
    const refused = await create(creator, folder, ["gw", "--yes"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/gw is not empty \(README\.md\)\. .* add --overwrite\.\n$/);
    expect(listFiles(folder)).toEqual(["gw/README.md"]);
    const plan = await create(creator, folder, ["gw", "--yes", "--overwrite", "--dry-run"]);
    expect(plan.stdout).toContain("README.md (replaced)\n");
    expect(listFiles(folder)).toEqual(["gw/README.md"]);
    const done = await create(creator, folder, ["gw", "--yes", "--overwrite"]);
    expect(done.code).toBe(0);
    expect(readFileSync(join(folder, "gw/README.md"), "utf8")).toMatch(/^# gw\n/);
  });

  it("that is empty, has only .git, or is where one stands, is used", async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, "empty"));
    mkdirSync(join(folder, "cloned/.git"), { recursive: true });
    mkdirSync(join(folder, "My Folder"));
    const ends = await Promise.all([
      create(creator, folder, ["empty/", "--yes"]),
      create(creator, folder, ["cloned", "--yes"]),
      create(creator, folder, ["deep/er/still", "--yes"]),
      create(creator, join(folder, "My Folder"), [".", "--yes", "--name", "mine"]),
    ]);
    expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(ends[3].stdout).toContain("in this folder.");
    expect(ends[3].stdout).not.toContain("cd ");
    expect(readFileSync(join(folder, "My Folder/package.json"), "utf8")).toContain(
      '"name": "mine"',
    );
    expect(listFiles(join(folder, "deep/er/still"))).toEqual(listFiles(join(folder, "empty")));
  });

  it("that is a file, below a file, a link to nowhere or not ours to write is refused", async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, "file"), "");
    symlinkSync(join(folder, "gone"), join(folder, "link"));
    const ends = await Promise.all(
      ["file", "file/gw", "link", "/sys/gw"].map((place) => create(creator, folder, [place])),
    );
    expect(ends.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
    expect(ends[0]!.stderr).toMatch(/file is a file\. Choose another directory\.\n$/);
    expect(ends[1]!.stderr).toMatch(/file\/gw lies below a file\. Choose another directory\.\n$/);
    expect(ends[2]!.stderr).toMatch(/link leads nowhere\. Choose another directory\.\n$/);
    expect(ends[3]!.stderr).toMatch(/^\/sys\/gw cannot be written: .*\. Nothing was changed\.\n$/);
    for (const { stderr } of ends) expectSentence(stderr);
  });

  it("with links or folders where files belong is left alone: a link could lead out of it", async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, "gw/package.json"), { recursive: true });
    mkdirSync(join(folder, "out"));
    symlinkSync("../out", join(folder, "gw/plugins"));
    const linked = await create(creator, folder, ["gw", "--yes", "--overwrite"]);
    expect([linked.code, linked.stderr]).toEqual([
      1,
      expect.stringMatching(/package\.json is in the way: it is a folder\. Remove it/),
    ]);
    expect(listFiles(folder)).toEqual([]);
    const other = makeFolder();
    mkdirSync(join(other, "gw"));
    writeFileSync(join(other, "secret"), "as it was");
    symlinkSync("../secret", join(other, "gw/.env"));
    const env = await create(creator, other, ["gw", "--yes", "--overwrite"]);
    expect(env.stderr).toMatch(/\.env is in the way: it is a link\. Remove it/);
    expect(readFileSync(join(other, "secret"), "utf8")).toBe("as it was");
  });

  it("on a disk that is full half-way is as it was before", async () => {
    const folder = makeFolder();
    mkdirSync(join(folder, "gw"));
    writeFileSync(join(folder, "gw/.gitignore"), "mine");
    chmodSync(join(folder, "gw/.gitignore"), 0o640);
    // Files may have one block (512 bytes or 1 KiB): the small ones are written, and then one fails as on a full disk.
    const command = `ulimit -f 1; exec '${process.execPath}' '${creator.program}' gw --yes --overwrite`;
    const env = cleanEnvironment() as NodeJS.ProcessEnv;
    const { code, stderr } = await run("sh", ["-c", command], { cwd: folder, env });
    expect(stderr).toMatch(
      /gw cannot be written: files may not be that large\. Nothing was changed\.\n/,
    );
    expect(code).toBe(1);
    expect(listFiles(folder)).toEqual(["gw/.gitignore"]);
    expect(readFileSync(join(folder, "gw/.gitignore"), "utf8")).toBe("mine");
    expect(statSync(join(folder, "gw/.gitignore")).mode & 0o777).toBe(0o640);
  });
});

describe("without a terminal", () => {
  it("asks nothing, whether standard input is closed, empty or open for ever", async () => {
    const folder = makeFolder();
    const env = cleanEnvironment() as NodeJS.ProcessEnv;
    const closed = await run(
      "sh",
      ["-c", `exec '${process.execPath}' '${creator.program}' a <&-`],
      {
        cwd: folder,
        env,
      },
    );
    const empty = await create(creator, folder, ["b"]);
    const child = spawn(process.execPath, [creator.program, "c"], {
      cwd: folder,
      env,
      stdio: "pipe",
    });
    const [code] = (await once(child, "exit")) as [number];
    child.stdin.destroy();
    expect([closed.code, empty.code, code]).toEqual([0, 0, 0]);
    expect(listFiles(join(folder, "a"))).toEqual(listFiles(join(folder, "c")));
  });

  it("whoever reads only the beginning sees no error", async () => {
    const command = `'${process.execPath}' '${creator.program}' --help | true; '${process.execPath}' '${creator.program}' gw --yes | true`;
    const env = cleanEnvironment() as NodeJS.ProcessEnv;
    const { stderr } = await run("sh", ["-c", command], { cwd: makeFolder(), env });
    expect(stderr).toBe("");
  });

  it("--json prints one JSON object and nothing else", async () => {
    const folder = makeFolder();
    const { code, stdout, stderr } = await create(creator, folder, [
      "gw",
      "--json",
      "--pm",
      "pnpm",
    ]);
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect([code, stderr]).toEqual([0, ""]);
    expect(result).toEqual({
      directory: expect.stringMatching(/\/gw$/),
      name: "gw",
      template: "minimal",
      files: listFiles(join(folder, "gw")),
      imported: [],
      fillIn: [],
      notes: [],
      manager: "pnpm",
      installed: false,
      git: true,
      next: ["cd gw", "pnpm install", "pnpm start"],
    });
  });

  it("--dry-run writes nothing and names every file", async () => {
    const folder = makeFolder();
    const words = ["gw", "--yes", "--with", "none"];
    const text = await create(creator, folder, [...words, "--dry-run"]);
    const json = await create(creator, folder, [...words, "--dry-run", "--json"]);
    expect(listFiles(folder)).toEqual([]);
    await create(creator, folder, words);
    const made = listFiles(join(folder, "gw"));
    expect(text.stdout.trim().split("\n").toSorted()).toEqual(made);
    expect((JSON.parse(json.stdout) as { files: string[] }).files.toSorted()).toEqual(made);
    expect(made).not.toContain("Dockerfile");
  });

  it("the steps it prints can be copied, wherever it is", async () => {
    const folder = makeFolder();
    const place = "it's a place/$HOME/-x/gw";
    const { stdout } = await create(creator, folder, [place, "--yes"]);
    const step = /^ {2}(cd .*)$/m.exec(stdout)![1]!;
    const { stdout: there } = await run("sh", ["-c", `${step} && pwd`], { cwd: folder });
    expect(there.trim()).toMatch(/\/it's a place\/\$HOME\/-x\/gw$/);
  });

  it.each([
    ["npm/11.0.0 node/v20.19.0 linux x64", "minimal", ["npm install", "npm start"]],
    ["pnpm/10.0.0 npm/? node/v20", "minimal", ["pnpm install", "pnpm start"]],
    ["yarn/4.0.0 npm/? node/v20", "plugin", ["yarn install", "yarn test"]],
    ["bun/1.2.0 npm/? node/v24", "plugin", ["bun install", "bun run test"]],
    ["deno/2.0.0", "minimal", ["npm install", "npm start"]],
  ])("speaks of the package manager that runs it: %s", async (agent, template, steps) => {
    const { stdout } = await create(creator, makeFolder(), ["gw", "-t", template, "--json"], {
      npm_config_user_agent: agent,
    });
    expect((JSON.parse(stdout) as { next: string[] }).next).toEqual(["cd gw", ...steps]);
  });
});
