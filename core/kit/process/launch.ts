import { execFile } from "node:child_process";
import { constants, closeSync, openSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { basename, delimiter, join, resolve } from "node:path";
import { isMainThread } from "node:worker_threads";
import { GatewayError } from "../errors.ts";
import { childEnvironment } from "../environment.ts";
import { devNull } from "node:os";

/** A program to start, with everything that decides whether it can. */
export interface Launch {
  /** Name of the server, for messages. */
  readonly name: string;
  /** What has that name, for messages; default: `Server`. */
  readonly owner?: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of its own, on top of the few that every child gets: PATH, HOME, LANG and the like. Nothing else is handed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

const TOO_MANY_FILES = "Raise the limit (ulimit -n) or run fewer servers.";

/** Why a program does not start, by the system's error code or one of ours; `%` is the command. */
const FAILURES: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  NUL: [
    "its command, args, env or cwd holds a NUL character",
    "Remove it from the server's entry.",
  ],
  CWD: ["its working directory does not exist", "Create it, or change cwd in the server's entry."],
  ENOENT: ["command % was not found", "Is it installed and on the PATH of the gateway?"],
  PATH: [
    "the file of command % does not exist",
    "Check its path in the entry: for a command with a slash, PATH is not searched.",
  ],
  EACCES: ["command % is not executable", "Check the file's permissions (chmod +x)."],
  EPERM: ["command % may not be started by this user", "Check the file's permissions."],
  EINVAL: [
    "command % cannot be started directly",
    "On Windows, a .cmd or .bat file runs as: cmd /c FILE.",
  ],
  EMFILE: ["the gateway has too many open files", TOO_MANY_FILES],
  ENFILE: ["the system has too many open files", TOO_MANY_FILES],
  EAGAIN: [
    "the limit of processes is reached",
    "Raise the limit (ulimit -u) or run fewer servers.",
  ],
  ENOMEM: ["not enough memory", "Free some memory or run fewer servers."],
  E2BIG: ["its args and env are too long", "Shorten them, or put them in a file."],
};

/**
 * Checks that a program can be started, so that the reason why not is a sentence and not an exit code.
 * @throws {GatewayError} `upstream_error`
 */
export async function checkLaunch(launch: Launch): Promise<void> {
  const { command, args, env, cwd } = launch;
  if ([command, cwd, ...args, ...Object.values(env)].some((text) => text.includes("\0")))
    throw toLaunchError(launch, "NUL");
  if (!(await isDirectory(cwd))) throw toLaunchError(launch, "CWD");
  if (process.platform === "win32") return;
  const found = await findExecutable(command, env["PATH"], cwd);
  if (found.path === undefined)
    throw toLaunchError(
      launch,
      found.code === "ENOENT" && hasFolder(command) ? "PATH" : found.code,
    );
}

/** The error of a program that does not start: what is wrong and what to do. */
export function toLaunchError(
  { name, command, owner = "Server" }: Launch,
  code: string,
  cause?: unknown,
): GatewayError {
  const [reason, hint] = FAILURES[code] ?? [
    `the system refused (${code})`,
    "The log has the details.",
  ];
  // The command without its folder: paths of the machine do not belong into messages.
  const sentence = `${owner} "${name}" cannot start: ${reason.replace("%", () => JSON.stringify(basename(command)))}.`;
  return new GatewayError("upstream_error", sentence, { hint, data: { server: name }, cause });
}

async function isDirectory(path: string): Promise<boolean> {
  const entry = await stat(path).catch(() => undefined);
  return entry?.isDirectory() ?? false;
}

type Found =
  | { readonly path: string }
  | { readonly path?: undefined; readonly code: "ENOENT" | "EACCES" };

/** Looks where execvp would look: at the path itself if it has a slash, else in every folder of PATH. */
async function findExecutable(command: string, path = "/usr/bin:/bin", cwd = "/"): Promise<Found> {
  const files = hasFolder(command)
    ? [resolve(cwd, command)]
    : path.split(delimiter).map((folder) => join(resolve(cwd, folder), command));
  let code: "ENOENT" | "EACCES" = "ENOENT";
  for (const file of files) {
    const problem = await whyNotExecutable(file);
    if (problem === undefined) return { path: file };
    if (problem === "EACCES") code = problem;
  }
  return { code };
}

/** Whether a command says where it is, so that PATH is not searched (execvp). */
function hasFolder(command: string): boolean {
  return command.includes("/");
}

async function whyNotExecutable(file: string): Promise<"ENOENT" | "EACCES" | undefined> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile() ? undefined : "EACCES";
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES"
      ? "EACCES"
      : "ENOENT";
  }
}

const DEATH_SIGNAL = ["--pdeathsig", "KILL", "--"];
let setpriv: Promise<string | undefined> | undefined;

/**
 * The argv that starts a program so that the kernel kills it when the gateway dies: on Linux through util-linux' setpriv.
 * Not in a worker thread, because there the signal comes when the thread ends.
 */
export async function toArgv({
  command,
  args,
}: Launch): Promise<readonly [file: string, ...args: string[]]> {
  if (process.platform !== "linux" || !isMainThread) return [command, ...args];
  setpriv ??= findSetpriv().catch((error: unknown) => {
    setpriv = undefined;
    throw error;
  });
  const wrapper = await setpriv;
  return wrapper === undefined ? [command, ...args] : [wrapper, ...DEATH_SIGNAL, command, ...args];
}

/** Its full path, since the child's PATH need not have it; tried out, since BusyBox has one without the option. */
async function findSetpriv(): Promise<string | undefined> {
  const { path } = await findExecutable("setpriv", process.env["PATH"]);
  if (path === undefined) return undefined;
  ensureDescriptors();
  const works = await new Promise<boolean>((settle) => {
    const env = childEnvironment({});
    execFile(path, [...DEATH_SIGNAL, "true"], { env }, (error) => settle(error === null));
  });
  return works ? path : undefined;
}

/** Of a spawn: three pairs of sockets and the pipe that reports a failed exec; and as much again for the reaper. */
const NEEDED = 12;

/**
 * Makes sure that a spawn in this tick will not run out of descriptors half-way: Node keeps those it opened until then
 * forever, so every attempt would make it worse.
 * @throws {Error} with code `EMFILE` or `ENFILE`
 */
export function ensureDescriptors(): void {
  const taken: number[] = [];
  try {
    while (taken.length < NEEDED) taken.push(openSync(devNull, "r"));
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}
