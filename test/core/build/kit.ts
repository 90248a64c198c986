import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Folder of the repository. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const CLI = join(ROOT, "dist/plugins/cli.js");
const BUNDLE = fileURLToPath(new URL("bundle.mjs", import.meta.url));

/** Command line of an MCP server over stdio; the file is no part of any build. */
export const STDIO_SERVER = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);

/** What a finished process did. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Folders of one test file; they go with it. */
export class Folders {
  readonly #made: string[] = [];

  /** An empty folder with nothing of this repository above it. */
  async empty(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "propylon-build-"));
    this.#made.push(folder);
    return folder;
  }

  /**
   * The folder of a gateway that is about to be built: Propylon is installed in it, and nothing else.
   * @param files texts by path
   */
  async project(files: Readonly<Record<string, string>>): Promise<string> {
    const folder = await this.empty();
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await mkdir(join(folder, "node_modules"), { recursive: true });
    await symlink(ROOT, join(folder, "node_modules/propylon"));
    return folder;
  }

  /** A build moved to where nothing else is. */
  async moved(output: string): Promise<string> {
    const folder = await this.empty();
    await cp(output, folder, { recursive: true });
    return folder;
  }

  async remove(): Promise<void> {
    await Promise.all(this.#made.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

/** Runs `propylon` in a folder. */
export function propylon(
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return run([CLI, ...words], cwd, env);
}

/** Builds with a bundler of its own right, into `.output`. */
export function bundle(
  bundler: string,
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return run([BUNDLE, bundler, join(cwd, "gateway.yaml"), join(cwd, ".output")], cwd, env);
}

/** Like {@link bundle}, again whenever something changes. */
export function watchBundle(bundler: string, cwd: string): ChildProcess {
  const words = [BUNDLE, bundler, join(cwd, "gateway.yaml"), join(cwd, ".output"), "--watch"];
  return spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "inherit"] });
}

/** Runs a Node script to its end. */
export function run(
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      words,
      { cwd, env: { ...bare(), ...env } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
      },
    );
  });
}

/** A build that runs. */
export interface Served {
  /** Base URL of its first listener. */
  readonly url: string;
  /** Its log so far. */
  log(): string;
  /** Resolves once the log matches. */
  until(pattern: RegExp): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Ends it as an operator does; resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Starts `server.mjs` of a folder and waits until it serves. */
export async function serve(
  cwd: string,
  env: Readonly<Record<string, string>> = {},
  words: readonly string[] = [],
): Promise<Served> {
  const child = spawn(process.execPath, ["server.mjs", ...words], {
    cwd,
    env: { ...bare(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const waiting = new Set<() => void>();
  const note = (chunk: string): void => {
    text += chunk;
    for (const check of waiting) check();
  };
  child.stdout.setEncoding("utf8").on("data", note);
  child.stderr.setEncoding("utf8").on("data", note);
  const gone = once(child, "close") as Promise<[number | null]>;
  const until = async (pattern: RegExp): Promise<void> => {
    const seen = new Promise<void>((resolve) => {
      const check = (): void => void (pattern.test(text) && resolve());
      waiting.add(check);
      check();
    });
    const ended = gone.then(() => {
      if (!pattern.test(text)) throw new Error(`it ended before ${pattern}: ${text}`);
    });
    await Promise.race([seen, ended]);
  };
  await until(/"msg":"gateway ready"/);
  return {
    url: /"url":"(http:\/\/[^"/]+)/.exec(text)![1]!,
    log: () => text,
    until,
    signal: (name) => void child.kill(name),
    async stop() {
      child.kill("SIGTERM");
      const [code] = await gone;
      return code;
    },
  };
}

/** @throws when a process failed, with what it said */
export function succeed({ code, stderr }: Finished): void {
  if (code !== 0) throw new Error(`it ended with ${code}: ${stderr}`);
}

/** Names in a folder. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = await readdir(folder).catch(() => []);
  return names.toSorted((left, right) => left.localeCompare(right));
}

/** Nothing of this process that a gateway could read. */
function bare(): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME };
}
