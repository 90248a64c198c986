import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Socket } from "node:net";

/**
 * Runs in its own `sh` (1 MB, where a second Node would cost 40): keeps the list of groups it is told, and at the end of its
 * input, which is the death of the gateway however it came, kills them. A leader with another start time is a stranger who
 * got the number; a missing one left its group behind, and the kernel gives no number away while a group bears it.
 */
export const REAPER_SCRIPT = `
trap '' HUP INT TERM
groups=
while read -r verb group start; do
  rest=
  for entry in $groups; do [ "\${entry%:*}" = "$group" ] || rest="$rest $entry"; done
  groups=$rest
  [ "$verb" = watch ] && groups="$groups $group:$start"
done
for entry in $groups; do
  group=\${entry%:*} start=\${entry#*:}
  if [ -n "$start" ] && read -r stat 2>/dev/null </proc/$group/stat; then
    set -- \${stat##*) }
    [ "\${20}" = "$start" ] || continue
  fi
  kill -s KILL -- "-$group" 2>/dev/null || kill -9 "-$group" 2>/dev/null
done
exit 0
`;

/**
 * The last line of defence against orphans: a process that outlives the gateway for the moment it takes to kill the process
 * groups of its children. `pdeathsig` covers a direct child only; this covers every level. It runs while there is a child,
 * never keeps the gateway alive, and where there is no `/bin/sh` (or on Windows) its absence costs only this protection.
 */
class Reaper {
  readonly #groups = new Map<number, string>();
  #process: ChildProcess | undefined;

  /** Takes responsibility for a process group; call right after the spawn, while its leader cannot have been replaced. */
  watch(group: number): void {
    const start = startTime(group);
    this.#groups.set(group, start);
    if (this.#process === undefined) this.#start();
    else this.#tell(`watch ${group} ${start}\n`);
  }

  /** Gives a group up: it is gone, or has been killed. The last one ends the process. */
  release(group: number): void {
    if (!this.#groups.delete(group)) return;
    if (this.#groups.size > 0) return this.#tell(`release ${group}\n`);
    this.#process?.stdin?.end(`release ${group}\n`);
    this.#process = undefined;
  }

  #start(): void {
    if (process.platform === "win32") return;
    // Own session: a Ctrl-C at the terminal must not end it before the gateway.
    const child = spawn("/bin/sh", ["-c", REAPER_SCRIPT, "propylon-reaper"], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
      env: {},
    });
    const forget = () => {
      if (this.#process === child) this.#process = undefined;
    };
    child.on("error", forget).on("exit", forget);
    child.unref();
    this.#process = child;
    child.stdin?.on("error", forget);
    if (child.stdin instanceof Socket) child.stdin.unref();
    this.#tell([...this.#groups].map(([group, start]) => `watch ${group} ${start}\n`).join(""));
  }

  #tell(lines: string): void {
    this.#process?.stdin?.write(lines);
  }
}

/** The reaper of this process. */
export const reaper = new Reaper();

/** Start time of a process in clock ticks since boot (field 22 of /proc/PID/stat); `""` where there is no /proc. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
