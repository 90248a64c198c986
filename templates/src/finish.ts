import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { Failure } from "./failure.ts";

/** The package manager that runs this program, else npm. */
export function callingManager(): string {
  const agent = process.env["npm_config_user_agent"] ?? "";
  const [name = ""] = agent.split("/");
  return ["npm", "pnpm", "yarn", "bun"].includes(name) ? name : "npm";
}

/** Makes a git repository with everything in it; says whether that worked, since git may be missing or know no author. */
export function initGit(directory: string): boolean {
  const git = (...words: string[]): boolean =>
    spawnSync("git", words, { cwd: directory, stdio: "ignore" }).status === 0;
  if (git("rev-parse", "--is-inside-work-tree")) return true;
  return git("init", "--quiet") && git("add", "--all");
}

/**
 * Runs a package manager in the project, showing what it says.
 *
 * @throws {Failure} when it fails
 */
export async function runManager(
  directory: string,
  manager: string,
  words: readonly string[],
): Promise<void> {
  // On Windows package managers are scripts, which only a shell runs; the words are ours.
  const child = spawn(manager, words, {
    cwd: directory,
    // What this prints is data with --json, so what others print goes elsewhere.
    stdio: ["inherit", 2, 2],
    shell: process.platform === "win32",
  });
  const [code, signal] = (await once(child, "exit").catch((error: Error) => {
    throw new Failure(`${manager} cannot be started: ${error.message}.`);
  })) as [number | null, string | null];
  if (signal !== null) throw new Failure(`${manager} ${words[0]} was broken off.`, 130);
  if (code !== 0)
    throw new Failure(
      `${manager} ${words.join(" ")} failed. The project is complete; look at what it says above and run it again in ${directory}.`,
    );
}
