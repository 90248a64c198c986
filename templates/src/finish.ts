import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { Failure } from "./failure.ts";
import { type Interruption, exitCodeOf } from "./interruption.ts";

/** Package managers that can be asked for. */
export const MANAGERS = ["npm", "pnpm", "yarn", "bun"] as const;

/** The package manager that runs this program, else npm. */
export function callingManager(): string {
  const agent = process.env["npm_config_user_agent"] ?? "";
  const [name = ""] = agent.split("/");
  return (MANAGERS as readonly string[]).includes(name) ? name : "npm";
}

/** Words that run a script of package.json; `bun test` would be something else. */
export function scriptWords(manager: string, script: string): readonly string[] {
  return manager === "bun" ? ["run", script] : [script];
}

/** Makes a git repository with everything in it; says whether there is one, since git may be missing. */
export function initGit(directory: string): boolean {
  const git = (...words: string[]): boolean =>
    spawnSync("git", words, { cwd: directory, stdio: "ignore" }).status === 0;
  if (git("rev-parse", "--is-inside-work-tree")) return true;
  return git("init", "--quiet") && git("add", "--all");
}

/**
 * Runs a package manager in the project, showing what it says.
 *
 * @throws {Failure} when it fails, or is interrupted
 */
export async function runManager(
  directory: string,
  manager: string,
  words: readonly string[],
  interruption: Interruption,
): Promise<void> {
  const command = [manager, ...words].join(" ");
  // On Windows package managers are scripts, which only a shell runs; the words are ours.
  const child = spawn(manager, words, {
    cwd: directory,
    // What this prints is data with --json, so what others print goes elsewhere.
    stdio: ["inherit", 2, 2],
    shell: process.platform === "win32",
  });
  // The keyboard's Ctrl-C reaches the child on its own; a second one would make a gateway end without grace.
  interruption.pass((signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
  const [code, ended] = (await once(child, "exit").catch((error: NodeJS.ErrnoException) => {
    const why = error.code === "ENOENT" ? "it is not installed" : (error.code ?? error.message);
    throw new Failure(`${manager} cannot be started: ${why}.`);
  })) as [number | null, string | null];
  interruption.pass(undefined);
  const signal = await interruption.signal();
  if (signal !== undefined) throw new Failure(`${command} was interrupted.`, exitCodeOf(signal));
  if (code !== 0) throw new Failure(`${command} failed (${ended ?? code}); see above.`);
}
