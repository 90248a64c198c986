import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { mortal } from "../../fixtures/process/mortal.mjs";

/** The built command line. */
export const MAIN = fileURLToPath(new URL("../../../dist/plugins/cli.js", import.meta.url));

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

/** Starts the built command line as a user would; it ends with this process. */
export function spawnPropylon(
  words: readonly string[],
  { cwd, env }: RunOptions = {},
): ChildProcess {
  return spawn(...mortal(process.execPath, [MAIN, ...words]), {
    cwd,
    env: environmentOf(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function environmentOf(env?: RunOptions["env"]): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, ...env };
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

/** Runs command lines one after the other in one process: to load the program for each is most of the work. */
class CommandLoop {
  readonly #child = fork(LOOP, {
    env: environmentOf(),
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  readonly #said = [collect(this.#child.stdout!), collect(this.#child.stderr!)];
  readonly #gone = once(this.#child, "close") as Promise<[number | null]>;
  #turn: Promise<unknown> = Promise.resolve();

  run(words: readonly string[], { cwd, env }: RunOptions = {}): Promise<Finished> {
    const line = { words, cwd: cwd ?? process.cwd(), env: environmentOf(env) };
    const finished = this.#turn.then(() => this.#ask(line));
    this.#turn = finished.catch(() => {});
    return finished;
  }

  async #ask(line: { readonly words: readonly string[] }): Promise<Finished> {
    const answer = once(this.#child, "message") as Promise<[Finished]>;
    this.#child.send(line);
    const [finished] = await Promise.race([answer, this.#gone.then(() => this.#fail(line.words))]);
    return finished;
  }

  /** Rejects when the process does not end by itself and in order, or said more than its command lines did. */
  async end(): Promise<void> {
    await this.#turn;
    if (this.#child.connected) this.#child.send("end");
    const [code] = await this.#gone;
    if (code !== 0 || this.#said.some((said) => said() !== "")) this.#fail([String(code)]);
  }

  #fail(words: readonly string[]): never {
    throw new Error(`${words.join(" ")}: ${this.#said.map((said) => said()).join("")}`);
  }
}

/** Runs command lines to their ends in a process of their own. Rejects when that does not end by itself and in order. */
export async function propylonEach(
  all: readonly (readonly string[])[],
  options?: RunOptions,
): Promise<Finished[]> {
  const loop = new CommandLoop();
  const finished = await Promise.all(all.map((words) => loop.run(words, options)));
  await loop.end();
  return finished;
}

/** {@link propylon} and {@link propylonEach} in one process for the file that calls it, which has to end by itself and in order. */
export function useCommands(): {
  readonly propylon: typeof propylon;
  readonly propylonEach: typeof propylonEach;
} {
  let loop: CommandLoop | undefined;
  const run: typeof propylon = (words, options) => (loop ??= new CommandLoop()).run(words, options);
  afterAll(() => loop?.end());
  return {
    propylon: run,
    propylonEach: (all, options) => Promise.all(all.map((words) => run(words, options))),
  };
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
