import { readdirSync, readFileSync } from "node:fs";

interface Entry {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
}

/**
 * Processes below one, of every level.
 *
 * @param isLeftOut tells of which neither it nor what is below it counts
 */
export function descendantsOf(pid: number, isLeftOut = (_pid: number) => false): number[] {
  const entries = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => entryOf(Number(name)) ?? []);
  const found: number[] = [];
  for (let level = [pid]; level.length > 0;) {
    level = entries
      .filter(({ parent }) => level.includes(parent))
      .map((entry) => entry.pid)
      .filter((each) => !isLeftOut(each));
    found.push(...level);
  }
  return found;
}

/** Whether a process still runs; one that only waits to be reaped does not. */
export function isAlive(pid: number): boolean {
  const entry = entryOf(pid);
  return entry !== undefined && entry.state !== "Z" && entry.state !== "X";
}

function entryOf(pid: number): Entry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything, parentheses included.
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, parent: Number(parent), state: state! };
  } catch {
    return undefined;
  }
}
