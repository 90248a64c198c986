import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, resolve } from "node:path";
import { isMainThread } from "node:worker_threads";
import { GatewayError } from "../errors.ts";

/** A program to start, with everything that decides whether it can. */
export interface Launch {
  /** Name of the server, for messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment, see {@link childEnvironment}. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/**
 * Checks that a program can be started, so that the reason why not is a sentence and not an exit code.
 * @throws {GatewayError} `upstream_error`
 */
export async function checkLaunch(launch: Launch): Promise<void> {
  if (
    [launch.command, launch.cwd, ...launch.args, ...Object.values(launch.env)].some((text) =>
      text.includes("\0"),
    )
  )
    throw cannotStart(
      launch,
      "its command, args, env or cwd holds a NUL character",
      "Remove it from the server's entry.",
    );
  if (!(await isDirectory(launch.cwd)))
    throw cannotStart(
      launch,
      "its working directory does not exist",
      "Create it, or change cwd in the server's entry.",
    );
  if (process.platform === "win32") return;
  const found = await findExecutable(launch);
  if (found === "missing")
    throw cannotStart(
      launch,
      `command "${shortName(launch)}" was not found`,
      "Is it installed and on the PATH of the gateway?",
    );
  if (found === "forbidden")
    throw cannotStart(
      launch,
      `command "${shortName(launch)}" is not executable`,
      "Check the file's permissions (chmod +x).",
    );
}

/** Turns a failed spawn into an error that says what to do. */
export function toLaunchError(launch: Launch, error: NodeJS.ErrnoException): GatewayError {
  const [reason, hint] = LAUNCH_FAILURES[error.code ?? ""] ?? [
    `the system refused (${error.code ?? "unknown reason"})`,
    "The log has the details.",
  ];
  return cannotStart(launch, reason.replace("%", `command "${shortName(launch)}"`), hint, error);
}

const TOO_MANY_FILES = "Raise the limit (ulimit -n) or run fewer servers.";
const LAUNCH_FAILURES: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOENT: ["% was not found", "Is it installed and on the PATH of the gateway?"],
  EACCES: ["% is not executable", "Check the file's permissions (chmod +x)."],
  EPERM: ["% may not be started by this user", "Check the file's permissions."],
  EINVAL: ["% cannot be started directly", "On Windows, a .cmd or .bat file runs as: cmd /c FILE."],
  EMFILE: ["the gateway has too many open files", TOO_MANY_FILES],
  ENFILE: ["the system has too many open files", TOO_MANY_FILES],
  EAGAIN: [
    "the limit of processes is reached",
    "Raise the limit (ulimit -u) or run fewer servers.",
  ],
  ENOMEM: ["there is not enough memory", "Free some memory or run fewer servers."],
  E2BIG: ["its args and env are too long", "Shorten them, or put them in a file."],
};

function cannotStart(launch: Launch, reason: string, hint: string, cause?: unknown): GatewayError {
  const data = { server: launch.name };
  return new GatewayError("upstream_error", `Server "${launch.name}" cannot start: ${reason}.`, {
    hint,
    data,
    cause,
  });
}

/** The command without its folder: paths of the machine do not belong into messages. */
function shortName(launch: Launch): string {
  return basename(launch.command);
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

/** Looks where execvp would look: at the path itself if it has a slash, else in every folder of the child's PATH. */
async function findExecutable({
  command,
  cwd,
  env,
}: Launch): Promise<"found" | "missing" | "forbidden"> {
  const folders = command.includes("/") ? [cwd] : (env["PATH"] ?? "/usr/bin:/bin").split(delimiter);
  let result: "missing" | "forbidden" = "missing";
  for (const folder of folders) {
    const file = isAbsolute(command) ? command : join(resolve(cwd, folder), command);
    const entry = await stat(file).catch((error: NodeJS.ErrnoException) => error);
    if (entry instanceof Error) {
      if (entry.code === "EACCES") result = "forbidden";
    } else if (await isExecutable(file, entry.isFile())) return "found";
    else result = "forbidden";
  }
  return result;
}

async function isExecutable(file: string, isFile: boolean): Promise<boolean> {
  if (!isFile) return false;
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

let deathSignal: Promise<boolean> | undefined;

/**
 * The argv that starts a program so that the kernel kills it when the gateway dies (Linux with util-linux; BusyBox has no
 * such option). Not in a worker thread: there the signal comes when the thread ends.
 */
export async function toArgv({ command, args }: Launch): Promise<[file: string, args: string[]]> {
  if (process.platform !== "linux" || !isMainThread) return [command, [...args]];
  deathSignal ??= new Promise((settle) => {
    execFile("setpriv", [...PDEATHSIG, "true"], (error) => settle(error === null));
  });
  return (await deathSignal) ? ["setpriv", [...PDEATHSIG, command, ...args]] : [command, [...args]];
}

const PDEATHSIG = ["--pdeathsig", "KILL", "--"];
