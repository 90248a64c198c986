import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { execFileSync } from "node:child_process";
import type { Gateway } from "../gateway/gateway.ts";
import { SignInLinks } from "../plugin/kernel-points.ts";

/** How long a system may take to say who has the terminal, in milliseconds. */
const ASKING_MS = 1_000;

/** A link that signs in the person who opens it. Only a terminal shows it: others read a log, and it is kept. */
export function signInLink(gateway: Pick<Gateway, "point">): string | undefined {
  return isatty(1) ? gateway.point(SignInLinks)[0]?.() : undefined;
}

/** Prints a new link each time that somebody at the terminal presses Enter. Does not keep the process alive. */
export function linkOnEnter(gateway: Pick<Gateway, "point">): void {
  if (!isatty(0) || !isatty(1)) return;
  const { stdin } = process;
  stdin.on("data", (typed: Buffer) => {
    const link = String(typed).trim() === "" ? signInLink(gateway) : undefined;
    if (link !== undefined) process.stdout.write(`  Sign in (once, within 60 s): ${link}\n`);
  });
  // The terminal is gone; SIGHUP tells that as well.
  stdin.on("error", () => {});
  stdin.unref();
  const follow = (): void => void (isInForeground() ? stdin.resume() : stdin.pause());
  follow();
  // After bg and fg of a shell.
  process.on("SIGCONT", follow);
}

/** Whether this process may read from its terminal: the system stops one in the background that does. */
function isInForeground(): boolean {
  if (process.platform === "win32") return true;
  try {
    const [group, reading] = process.platform === "linux" ? groupsOfLinux() : groupsOfPosix();
    return group !== undefined && group === reading;
  } catch {
    return false;
  }
}

/** The group of this process, and the group that has the terminal. */
type Groups = readonly [string | undefined, string | undefined];

function groupsOfLinux(): Groups {
  // The second member is the name of the program in parentheses, which may hold anything.
  const [, , group, , , reading] = readFileSync("/proc/self/stat", "utf8")
    .split(/^.*\) /s)[1]!
    .split(" ");
  return [group, reading];
}

function groupsOfPosix(): Groups {
  const asked = ["-o", "pgid=,tpgid=", "-p", String(process.pid)];
  const told = execFileSync("ps", asked, {
    timeout: ASKING_MS,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [group, reading] = String(told).trim().split(/\s+/);
  return [group, reading];
}
