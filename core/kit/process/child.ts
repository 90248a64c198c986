import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import type { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import { within } from "../timers.ts";
import { ensureDescriptors, type Launch, checkLaunch, toArgv, toLaunchError } from "./launch.ts";
import { childEnvironment } from "../environment.ts";
import { reaper } from "./reaper.ts";

/** How long each step of closing a child may take, in milliseconds. */
export interface CloseTimes {
  /** From the end of its input to SIGTERM; default 2,000. */
  readonly eof: number;
  /** From SIGTERM to SIGKILL; default 3,000. */
  readonly term: number;
  /** For what is left of the group after its leader has exited, from SIGTERM to SIGKILL; default 500. */
  readonly orphans: number;
}

const CLOSE_TIMES: CloseTimes = { eof: 2_000, term: 3_000, orphans: 500 };

/** How often a group without its leader is looked at, in milliseconds. */
const POLL = 20;

/**
 * How a process ended.
 *
 * @example const { code, signal }: Exit = await child.exited;
 */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type Spawned = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * A child process that leads a process group of its own, so that closing it ends everything it started. Whatever ends the
 * leader, the rest of the group follows; when the gateway itself dies, {@link reaper} does it. A process that leaves the
 * group on purpose (setsid, a daemon) is out of reach.
 *
 * @example
 * const child: Child = await spawnChild({ name: "date", command: "date", args: [], env: {}, cwd: files.folder });
 * child.stdout.pipe(log);
 */
export class Child {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the leader has exited. */
  readonly exited: Promise<Exit>;
  readonly #times: CloseTimes;
  readonly #gone: Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(child: Spawned, pid: number, times: CloseTimes) {
    this.pid = pid;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.#times = times;
    this.exited = new Promise((settle) =>
      child.once("exit", (code, signal) => settle({ code, signal })),
    );
    this.#gone = this.exited.then(() => this.#sweep());
  }

  /**
   * Ends the process and everything it started: end of input, SIGTERM, SIGKILL, each after the last had its time. Resolves
   * when the leader has exited, the group is gone or killed, and the pipes are closed. Never rejects; further calls get the
   * same promise.
   *
   * @param patience how long to wait after the end of input, in milliseconds; 0 when the child does not read anyway
   */
  close(patience: number = this.#times.eof): Promise<void> {
    this.#closing ??= this.#shutDown(patience);
    return this.#closing;
  }

  /** Kills it and everything it started, at once and without a word. */
  kill(): void {
    this.#signal("SIGKILL");
  }

  async #shutDown(patience: number): Promise<void> {
    this.stdin.end();
    if (!(await within(this.exited, patience))) {
      this.#signal("SIGTERM");
      if (!(await within(this.exited, this.#times.term))) this.#signal("SIGKILL");
    }
    await this.#gone;
    // A process that left the group may still hold the other ends.
    for (const pipe of [this.stdin, this.stdout, this.stderr]) pipe.destroy();
  }

  /** Ends what is left of the group once its leader is gone. */
  async #sweep(): Promise<void> {
    const until = performance.now() + this.#times.orphans;
    let left = this.#signal("SIGTERM");
    while (left && performance.now() < until) {
      await new Promise((settle) => setTimeout(settle, POLL));
      left = this.#signal(0);
    }
    if (left) this.#signal("SIGKILL");
    reaper.release(this.pid);
  }

  /** Signals the group; false when nobody is left in it. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    if (process.platform === "win32") return this.#endTree(signal);
    try {
      return process.kill(-this.pid, signal);
    } catch {
      return false;
    }
  }

  /** Windows has no groups and no SIGTERM: the tree is ended at once, while its root still connects it. */
  #endTree(signal: NodeJS.Signals | 0): boolean {
    const words = ["/pid", String(this.pid), "/t", "/f"];
    if (signal !== 0) execFile("taskkill", words, { env: childEnvironment({}) }, () => undefined);
    return false;
  }
}

/**
 * Starts a program as the leader of its own process group, without a shell, its input and output piped. It sees a few harmless
 * variables of the gateway (PATH, HOME, LANG and the like) and what `env` says, and no secret of the gateway.
 * @throws {GatewayError} `upstream_error` with a hint when it cannot be started
 *
 * @example
 * const child = await spawnChild({ name: "agent", command: "node", args: ["agent.mjs"], env: {}, cwd: files.folder });
 * await child.close();
 */
export async function spawnChild(
  declared: Launch,
  times: Partial<CloseTimes> = {},
): Promise<Child> {
  // Here and not at the callers: none of them can hand on the gateway's environment by mistake.
  const launch = { ...declared, env: childEnvironment(declared.env) };
  await checkLaunch(launch);
  const { cwd, env } = launch;
  try {
    const [file, ...args] = await toArgv(launch);
    ensureDescriptors();
    const child = spawn(file, args, {
      cwd,
      env,
      stdio: ["pipe", "pipe", "pipe"],
      // On Windows it would mean a console window, not a group.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    if (child.pid === undefined) throw await failure(child);
    // In the same tick: until we are back in the event loop nobody can have waited for it, so the number is its own.
    reaper.watch(child.pid);
    return new Child(child, child.pid, { ...CLOSE_TIMES, ...times });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
    throw toLaunchError(launch, code, error);
  }
}

/** Most failed spawns are reported by an event, the others are thrown. */
function failure(child: EventEmitter): Promise<unknown> {
  return new Promise((settle) => child.once("error", settle));
}
