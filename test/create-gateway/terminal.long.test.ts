import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../kit/folder.ts";
import { cleanEnvironment, listFiles, openCreator, run } from "./creator.ts";
import { KEYS, openTerminal } from "./terminal.ts";

const creator = openCreator();

const QUESTIONS = [
  "What is it for?",
  "Directory of the new project?",
  "Import the MCP servers of these files?",
  "Which deployment files do you want?",
  "Install and start it now?",
];

/** A folder with servers to take over, so that every question is asked. */
function openFull(): string {
  const folder = makeFolder();
  const servers = { files: { command: "npx", args: ["server-files"] } };
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }));
  return folder;
}

/** A program in place of npm; what it is told it writes into `log`. */
function replaceNpm(folder: string, script: string): Record<string, string> {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "npm"), `#!/bin/sh\necho "$@" >> '${folder}/log'\n${script}\n`);
  chmodSync(join(bin, "npm"), 0o755);
  return { PATH: `${bin}:${process.env["PATH"]}` };
}

describe("questions", () => {
  it("there are five, and Enter answers every one; then it is installed and started", async () => {
    const folder = openFull();
    const environment = replaceNpm(folder, "exit 0");
    const terminal = openTerminal(creator, folder, [], environment);
    for (const question of QUESTIONS) {
      await terminal.see(question);
      terminal.press(KEYS.enter);
    }
    await terminal.see("Starting it; press Ctrl-C to stop.");
    expect(await terminal.ended).toBe(0);
    const asked = terminal.output().match(/[^│\n]*\?(?=\s)/g) ?? [];
    expect(new Set(asked.map((line) => line.replace(/^\W+/, "").trim()))).toEqual(
      new Set(QUESTIONS),
    );
    expect(readFileSync(join(folder, "log"), "utf8")).toBe("install\nstart\n");
    expect(readFileSync(join(folder, "my-gateway/gateway.yaml"), "utf8")).toContain("  files:\n");
    expect(terminal.output()).toContain("Imported: files.");
  });

  it("a plugin is asked about less, and is called one", async () => {
    const folder = openFull();
    const terminal = openTerminal(creator, folder);
    await terminal.see("What is it for?");
    terminal.press(KEYS.down.repeat(6) + KEYS.enter);
    await terminal.see("Directory of the new project?");
    await terminal.see("my-plugin");
    terminal.press(KEYS.enter);
    await terminal.see("Install it now?");
    terminal.press(`n${KEYS.enter}`);
    expect(await terminal.ended).toBe(0);
    expect(listFiles(join(folder, "my-plugin"))).toContain("src/index.ts");
  });

  it("who chooses PostgreSQL starts the database first", async () => {
    const folder = makeFolder();
    const terminal = openTerminal(creator, folder, ["gw", "-t", "minimal"]);
    await terminal.see("Which deployment files do you want?");
    terminal.press(KEYS.down.repeat(3));
    await terminal.see("keeps what must survive the process");
    terminal.press(KEYS.space + KEYS.enter);
    await terminal.see("Install it now?");
    terminal.press(`n${KEYS.enter}`);
    await terminal.see("  docker compose up --detach --wait postgres");
    expect(await terminal.ended).toBe(0);
    expect(readFileSync(join(folder, "gw/compose.yaml"), "utf8")).toContain("postgres:17-alpine");
  });

  it("a directory that cannot be used is asked for again", async () => {
    const folder = openFull();
    const terminal = openTerminal(creator, folder, ["-t", "minimal", "--no-install"]);
    await terminal.see("Directory of the new project?");
    terminal.press(`My App${KEYS.enter}`);
    await terminal.see("cannot be the name of a project");
    terminal.press(`${"\u007F".repeat(6)}fine${KEYS.enter}`);
    await terminal.see("Import the MCP servers");
    terminal.press(KEYS.space + KEYS.enter);
    await terminal.see("Which deployment files do you want?");
    terminal.press(KEYS.enter);
    expect(await terminal.ended).toBe(0);
    expect(listFiles(join(folder, "fine"))).toContain("Dockerfile");
    expect(terminal.output()).not.toContain("Imported: ");
  });

  it("nothing is asked about a directory that is refused anyway", async () => {
    const terminal = openTerminal(creator, openFull(), ["."], {});
    expect(await terminal.ended).toBe(1);
    expect(terminal.output()).not.toContain("?");
  });

  it.each([
    [["--yes"], {}],
    [["--json"], {}],
    [[], { CI: "1" }],
    [[], { CI: "true" }],
    [[], { TERM: "dumb" }],
  ])("%j %j: nothing is asked, terminal or not", async (words, environment) => {
    const folder = openFull();
    const terminal = openTerminal(creator, folder, words, environment);
    expect(await terminal.ended).toBe(0);
    expect(listFiles(join(folder, "my-gateway"))).toContain("gateway.yaml");
    expect(terminal.output()).not.toContain("?");
  });

  it("programs that write code are told the one line they need, people are not", async () => {
    const hint = "To create in one go, run: create-gateway <directory> --yes --template <template>";
    const program = openTerminal(creator, makeFolder(), [], { CLAUDECODE: "1" });
    const person = openTerminal(creator, makeFolder());
    await Promise.all([program.see("What is it for?"), person.see("What is it for?")]);
    expect(program.output()).toContain(hint);
    expect(person.output()).not.toContain(hint);
    program.press(KEYS.ctrlC);
    person.press(KEYS.ctrlC);
    expect(await Promise.all([program.ended, person.ended])).toEqual([130, 130]);
  });
});

describe("cancelled", () => {
  const at = QUESTIONS.map((question, index) => ({ question, index }));

  it.each(at)("Ctrl-C at '$question': nothing is there, exit code 130", async ({ index }) => {
    const folder = openFull();
    const terminal = openTerminal(creator, folder);
    for (const question of QUESTIONS.slice(0, index)) {
      await terminal.see(question);
      terminal.press(KEYS.enter);
    }
    await terminal.see(QUESTIONS[index]!);
    terminal.press(KEYS.ctrlC);
    await terminal.see("Cancelled. Nothing was written.");
    expect(await terminal.ended).toBe(130);
    expect(listFiles(folder)).toEqual([".mcp.json"]);
  });

  it("Ctrl-D at a question is the same", async () => {
    const folder = openFull();
    const terminal = openTerminal(creator, folder);
    await terminal.see(QUESTIONS[0]!);
    terminal.press(KEYS.ctrlD);
    await terminal.see("Cancelled. Nothing was written.");
    expect(await terminal.ended).toBe(130);
    expect(terminal.output()).not.toContain("Warning");
    expect(listFiles(folder)).toEqual([".mcp.json"]);
  });

  it("Ctrl-C while npm installs: npm gets it, the project is complete, and it says how to go on", async () => {
    const folder = openFull();
    const environment = replaceNpm(
      folder,
      `trap 'echo npm was told; exit 1' INT; echo installing; while :; do sleep 0.05; done`,
    );
    const words = ["gw", "--yes", "--start"];
    const terminal = openTerminal(creator, folder, words, environment);
    await terminal.see("installing");
    terminal.press(KEYS.ctrlC);
    await terminal.see("npm was told");
    await terminal.see("Next:\n  cd gw\n  npm install\n  npm start".replaceAll("\n", "\r\n"));
    await terminal.see("npm install was interrupted. The project is complete.");
    expect(await terminal.ended).toBe(130);
    expect(readFileSync(join(folder, "log"), "utf8")).toBe("install\n");
    expect(listFiles(join(folder, "gw"))).toContain("gateway.yaml");
  });

  it("Ctrl-C is how what was started ends: it is waited for, exit code 0", async () => {
    const folder = openFull();
    const environment = replaceNpm(
      folder,
      `[ "$1" = install ] && exit; trap 'sleep 0.3; echo drained; exit 1' INT; echo up; while :; do sleep 0.05; done`,
    );
    const terminal = openTerminal(creator, folder, ["gw", "--yes", "--start"], environment);
    await terminal.see("up");
    terminal.press(KEYS.ctrlC);
    await terminal.see("drained");
    expect(await terminal.ended).toBe(0);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ])("%s while files are written: nothing is there", async (signal, exit) => {
    const folder = makeFolder();
    // What is preloaded sends the signal right after the third file.
    writeFileSync(
      join(folder, "signal.cjs"),
      `const fs = require("node:fs");
      const write = fs.writeFileSync;
      let count = 0;
      fs.writeFileSync = (...words) => {
        write(...words);
        if (++count !== 3) return;
        process.kill(process.pid, ${JSON.stringify(signal)});
        // Which thread takes the signal is the kernel's choice.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        console.error("three");
      };
      require("node:module").syncBuiltinESMExports();`,
    );
    const words = ["--require", join(folder, "signal.cjs"), creator.program, "a/gw", "--yes"];
    const env = cleanEnvironment() as NodeJS.ProcessEnv;
    const { code, stderr } = await run(process.execPath, words, { cwd: folder, env });
    expect([code, stderr]).toEqual([exit, "three\nCancelled. Nothing was written.\n"]);
    expect(listFiles(folder)).toEqual(["signal.cjs"]);
    expect(existsSync(join(folder, "a"))).toBe(false);
  });

  it("SIGTERM reaches what was started", async () => {
    const folder = makeFolder();
    const script = `[ "$1" = install ] && exit; trap 'echo told > "${folder}/told"; exit' TERM; kill -TERM $PPID; while :; do sleep 0.05; done`;
    const env = cleanEnvironment(replaceNpm(folder, script)) as NodeJS.ProcessEnv;
    const words = [creator.program, "gw", "--yes", "--start"];
    const { code } = await run(process.execPath, words, { cwd: folder, env });
    expect([code, readFileSync(join(folder, "told"), "utf8")]).toEqual([0, "told\n"]);
  });
});

describe("installation", () => {
  it("with the real npm and no network: the project is complete, exit code 1, and it says what to run", async () => {
    const folder = makeFolder();
    const env = cleanEnvironment({
      npm_config_registry: "http://127.0.0.1:1/",
      npm_config_fetch_retries: "0",
      npm_config_cache: join(folder, "cache"),
    }) as NodeJS.ProcessEnv;
    const words = [creator.program, "gw", "--yes", "--install", "--json"];
    const { code, stdout, stderr } = await run(process.execPath, words, { cwd: folder, env });
    expect(code).toBe(1);
    expect(stderr).toContain("ECONNREFUSED");
    expect(stderr).toMatch(/\nnpm install failed \(1\); see above\. The project is complete\.\n$/);
    const result = JSON.parse(stdout) as { files: string[] };
    expect(result).toMatchObject({
      installed: false,
      git: true,
      next: ["cd gw", "npm install", "npm start"],
      error: "npm install failed (1); see above.",
    });
    expect(listFiles(join(folder, "gw"))).toEqual(expect.arrayContaining(result.files));
  });

  it("with a package manager that is not there", async () => {
    const folder = makeFolder();
    const env = cleanEnvironment({ PATH: join(folder, "nothing") }) as NodeJS.ProcessEnv;
    const words = [creator.program, "gw", "--yes", "--install", "--pm", "pnpm"];
    const { code, stdout, stderr } = await run(process.execPath, words, { cwd: folder, env });
    expect(code).toBe(1);
    expect(stderr).toBe("pnpm cannot be started: it is not installed. The project is complete.\n");
    expect(stdout).toContain("  cd gw\n  pnpm install\n  pnpm start\n");
    expect(stdout).toContain("It is not a git repository, since git init failed.\n");
  });

  it("what npm prints is not among the JSON", async () => {
    const folder = makeFolder();
    const env = cleanEnvironment(replaceNpm(folder, "echo chatter")) as NodeJS.ProcessEnv;
    const words = [creator.program, "gw", "--json", "--install"];
    const { code, stdout, stderr } = await run(process.execPath, words, { cwd: folder, env });
    expect([code, stderr]).toEqual([0, "chatter\n"]);
    expect(JSON.parse(stdout)).toMatchObject({ installed: true, next: ["cd gw", "npm start"] });
  });
});
