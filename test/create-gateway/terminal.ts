import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished } from "vitest";
import { cleanEnvironment, type Creator } from "./creator.ts";
import { requireProgram } from "../fixtures/programs.ts";

/** Keys as terminals send them. */
export const KEYS = { enter: "\r", ctrlC: "\u0003", ctrlD: "\u0004", down: "\u001B[B", space: " " };

/** A program in a terminal of its own. */
export interface Terminal {
  press(keys: string): void;
  /** Waits until it has printed something since the last `see`. */
  see(words: string): Promise<void>;
  /** Everything printed so far, without colours. */
  output(): string;
  /** Exit code, once it has ended. */
  readonly ended: Promise<number>;
}

/** Runs create-gateway in a real terminal, which `script` (bsdutils) makes. */
export function openTerminal(
  { program }: Pick<Creator, "program">,
  cwd: string,
  words: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Terminal {
  requireProgram("script");
  const quoted = [process.execPath, program, ...words].map((word) => `'${word}'`).join(" ");
  const command = `stty cols 120 rows 40; exec ${quoted}`;
  const child = spawn("script", ["--quiet", "--flush", "--return", "-c", command, "/dev/null"], {
    cwd,
    env: cleanEnvironment({ TERM: "xterm", SHELL: "/bin/sh", ...environment }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    printed += chunk;
  });
  const output = (): string => stripVTControlCharacters(printed);
  const ended = once(child, "close").then(([code]) => code as number);
  const see = async (wanted: string): Promise<void> => {
    for (;;) {
      const found = output().indexOf(wanted, seen);
      if (found !== -1) {
        seen = found + wanted.length;
        return;
      }
      const more = await Promise.race([once(child.stdout, "data"), ended]);
      // A program that a signal ended has no exit code.
      if (!Array.isArray(more) && !output().includes(wanted, seen))
        throw new Error(
          `It ended with ${String(more)}, and "${wanted}" was not there:\n${output()}`,
        );
    }
  };
  return { press: (keys) => void child.stdin.write(keys), see, output, ended };
}
