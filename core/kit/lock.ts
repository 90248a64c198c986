import { randomUUID } from "node:crypto";
import { link, readFile, readlink, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { GatewayError } from "./errors.ts";

/** How often a holder shows that it lives, in milliseconds. */
const BEAT_MS = 2_000;
/** After this long without a beat a holder whose process cannot be looked up counts as dead, in milliseconds. */
const SILENCE_MS = 4 * BEAT_MS;
/** Attempts to take a lock that others take and give back at the same time. */
const ATTEMPTS = 20;

/** Who holds a lock, as its file says. */
interface Holder {
  readonly pid: number;
  /** Where process ids are comparable: the machine and its namespace of processes. */
  readonly system: string;
  /** When the process began, as the system counts it; an id is used again. */
  readonly started: string;
  readonly since: string;
  /** Tells two holders in one process apart. */
  readonly token: string;
}

/**
 * A file that belongs to this process alone, as long as every other asks too. Made by {@link lockFile}.
 *
 * @example
 * const lock: FileLock = await lockFile(path);
 * onEnd(() => lock.release());
 */
export interface FileLock {
  /** Whether it still is: a process that was stopped for long may have lost it. */
  isHeld(): Promise<boolean>;
  /** Gives it back. Safe to call more than once. */
  release(): Promise<void>;
}

/** Tokens that this process holds: another one with its id was a process before it, e.g. in a container that restarted. */
const held = new Set<string>();

/**
 * Takes the lock of a file, which is a file `<name>.lock` beside it. One that a dead process left behind is taken over, also after
 * `kill -9`; one of another machine or container is when it shows no life for 8 seconds, which are waited for.
 *
 * @param file absolute path; need not exist, its folder must
 * @param name what messages call it; default: its last part
 * @throws {GatewayError} `exists`, naming the holder, when another process or another part of this one has it; `io_error`
 *
 * @example const lock = await lockFile(path, "The state file"); // exists: "The state file is used by another process."
 */
export async function lockFile(file: string, name = basename(file)): Promise<FileLock> {
  const path = `${file}.lock`;
  const own = await describeSelf();
  // Named as other temporary files are, so that a sweep of those finds it.
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.${own.token.slice(24)}.tmp`);
  held.add(own.token);
  try {
    await writeFile(draft, JSON.stringify(own), { flag: "wx", mode: 0o600 });
    await take(name, path, draft);
  } catch (cause) {
    held.delete(own.token);
    if (cause instanceof GatewayError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? "unknown error";
    throw new GatewayError("io_error", `${name} cannot be locked (${code}).`, {
      cause,
      hint: "Check that its folder exists and is writable.",
    });
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
  return hold(path, own.token);
}

async function take(name: string, path: string, draft: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await linkOnce(draft, path)) return;
    const holder = await readHolder(path);
    // Half written by who could not link, or given back just now.
    if (holder === undefined && attempt === 0) await wait(BEAT_MS / 10);
    if (holder !== undefined && (await isAlive(holder, path))) throw taken(name, holder);
    if (holder !== undefined || attempt > 0) await removeDead(path, draft, holder?.token);
  }
  throw taken(name, await readHolder(path));
}

/** A link appears with its whole content or not at all, and never over another. */
async function linkOnce(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (!NO_LINKS.has(code)) throw error;
    return writeOnce(path, await readFile(draft, "utf8"));
  }
}

/** What file systems without hard links answer; folders that nobody may write in answered before. */
const NO_LINKS: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
]);

async function writeOnce(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** One at a time: of two that found the same dead holder the slower would remove the lock of the faster. */
async function removeDead(path: string, draft: string, token: string | undefined): Promise<void> {
  const guard = `${path}.guard`;
  if (!(await linkOnce(draft, guard))) {
    const holder = await readHolder(guard);
    if (holder !== undefined && !(await isAlive(holder, guard))) await rm(guard, { force: true });
    else await wait(10 + Math.random() * 40);
    return;
  }
  try {
    if ((await readHolder(path))?.token === token) await rm(path, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

function hold(path: string, token: string): FileLock {
  const isHeld = async (): Promise<boolean> => held.has(token) && (await isOwn(path, token));
  const beat = async (): Promise<void> => {
    const now = new Date();
    if (await isHeld()) await utimes(path, now, now).catch(() => {});
  };
  const timer = setInterval(() => void beat(), BEAT_MS).unref();
  return {
    isHeld,
    async release() {
      clearInterval(timer);
      const isOurs = await isHeld();
      held.delete(token);
      if (isOurs) await rm(path, { force: true }).catch(() => {});
    },
  };
}

/** One that cannot be read now, e.g. because a disk is away, is not lost for that. */
async function isOwn(path: string, token: string): Promise<boolean> {
  try {
    return (await readFile(path, "utf8")).includes(token);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOENT";
  }
}

/** `undefined` for a file that is gone or is not a lock of ours; what stands in one is never half written. */
async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

async function isAlive(holder: Holder, path: string): Promise<boolean> {
  const { system } = await describeSelf();
  if (holder.system !== system) return showsLife(path);
  if (holder.pid === process.pid) return held.has(holder.token);
  if (!isRunning(holder.pid)) return false;
  const started = await startOf(holder.pid);
  return started === "" || holder.started === "" || started === holder.started;
}

/** Whether a process of this machine has that id. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Without comparing clocks, which two machines may have set differently. */
async function showsLife(path: string): Promise<boolean> {
  const beatOf = (): Promise<number | undefined> =>
    stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
  const first = await beatOf();
  for (let waited = 0; waited < SILENCE_MS; waited += BEAT_MS / 4) {
    await wait(BEAT_MS / 4);
    const now = await beatOf();
    if (now === undefined) return false;
    if (now !== first) return true;
  }
  return false;
}

async function describeSelf(): Promise<Holder> {
  const [namespace, started] = await Promise.all([
    readlink("/proc/self/ns/pid").catch(() => ""),
    startOf(process.pid),
  ]);
  return {
    pid: process.pid,
    system: `${hostname()} ${namespace}`.trim(),
    started,
    since: new Date().toISOString(),
    token: randomUUID(),
  };
}

/** When a process began, where the system tells (Linux); `""` elsewhere. */
async function startOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program stands in parentheses and may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // One that ended keeps its entry until its parent takes notice; some init processes never do.
  return fields[0] === "Z" ? "ended" : (fields[19] ?? "");
}

function taken(name: string, holder: Holder | undefined): GatewayError {
  const who = holder
    ? `process ${holder.pid} on ${holder.system.split(" ")[0]}, since ${holder.since}`
    : "another process";
  return new GatewayError("exists", `${name} is in use by another gateway: ${who}.`, {
    hint: "Stop that one, or give this one a file of its own.",
    ...(holder && { data: { pid: holder.pid } }),
  });
}
