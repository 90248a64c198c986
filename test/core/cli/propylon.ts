import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

const LOOP = fileURLToPath(new URL("command-loop.mjs", import.meta.url));

/** What a finished command line did. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of a run. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the built command line as a user would. */
export function spawnPropylon(
  words: readonly string[],
  { cwd, env }: RunOptions = {},
): ChildProcess {
  return spawn(process.execPath, [MAIN, ...words], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Runs the command line to its end. */
export async function propylon(
  words: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  const child = spawnPropylon(words, options);
  const [stdout, stderr] = [collect(child.stdout!), collect(child.stderr!)];
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}

/**
 * Runs command lines to their ends, one after the other in one process: to load the program for each is most of the work. Rejects when
 * that process does not end by itself and in order, or says more than its command lines did.
 */
export async function propylonEach(
  all: readonly (readonly string[])[],
  { cwd, env }: RunOptions = {},
): Promise<Finished[]> {
  const child = fork(LOOP, [JSON.stringify(all)], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const finished: Finished[] = [];
  child.on("message", (one: Finished) => finished.push(one));
  const [stdout, stderr] = [collect(child.stdout!), collect(child.stderr!)];
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0 || finished.length !== all.length || stdout() + stderr() !== "")
    throw new Error(`${finished.length} of ${all.length}, then ${code}: ${stdout()}${stderr()}`);
  return finished;
}

/** A gateway that runs in its own process. */
export interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  /** Its whole log so far. */
  readonly log: () => string;
  /** Resolves once the log matches. */
  until(pattern: RegExp): Promise<void>;
  /** Ends it as an operator does; resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Starts a gateway and waits for its summary. */
export async function startPropylon(
  words: readonly string[],
  options: RunOptions = {},
): Promise<Running> {
  const child = spawnPropylon(words, options);
  const log = collect(child.stdout!);
  const errors = collect(child.stderr!);
  const gone = once(child, "exit");
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(log())) {
      const ended = await Promise.race([
        once(child.stdout!, "data").then(() => false),
        gone.then(() => true),
      ]);
      if (ended && !pattern.test(log()))
        throw new Error(`the gateway ended before ${pattern}: ${log()}${errors()}`);
    }
  };
  await until(/"msg":"gateway ready"/);
  const summary = log()
    .split("\n")
    .find((line) => line.includes('"msg":"gateway ready"'))!;
  const { endpoints } = JSON.parse(summary) as { endpoints: { url: string }[] };
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    const [code] = (await gone) as [number | null];
    return code;
  };
  return { child, url: endpoints[0]!.url, log, until, stop };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
  return () => text;
}
