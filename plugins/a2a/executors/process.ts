import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";
import { GatewayError } from "propylon";

/** Between SIGTERM and SIGKILL, in milliseconds. */
const TERM_MS = 2_000;
/** How long what a program left behind may keep its output open, in milliseconds. */
const REST_MS = 1_000;
/** How much of the end of what it complained about is kept, in characters. */
const TAIL = 2_000;

/** A program to run. */
export interface Order {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly string[];
  /** Its whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly input: string;
  /** Most bytes it may write. */
  readonly most: number;
  readonly signal: AbortSignal;
  readonly onText: (text: string) => void;
}

/** How a program ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote to stderr. */
  readonly complaint: string;
}

/**
 * Runs a program in a process group of its own, to its end and that of its group: when the signal aborts, all of it gets SIGTERM and
 * two seconds later SIGKILL.
 *
 * @throws {GatewayError} `io_error` when it cannot be started; `too_large` when it writes too much; whatever the signal's reason is
 */
export async function runProgram(order: Order): Promise<Exit> {
  order.signal.throwIfAborted();
  const child = spawn(order.argv[0]!, order.argv.slice(1), {
    cwd: order.cwd,
    env: order.env,
    detached: true,
    stdio: "pipe",
  });
  const stop = (): void => killGroup(child, TERM_MS);
  order.signal.addEventListener("abort", stop, { once: true });
  try {
    const [output, complaint] = [listen(child, order, stop), keepTail(child)];
    feed(child, order.input);
    const [code, signal] = await exitOf(child, order.argv[0]!);
    order.signal.throwIfAborted();
    if (output.isTooLarge) throw tooLarge(order.most);
    return { code, signal, complaint: complaint() };
  } finally {
    order.signal.removeEventListener("abort", stop);
  }
}

/** Hands on what it writes, as whole characters, until it is too much. */
function listen(
  { stdout }: ChildProcess,
  { most, onText }: Order,
  stop: () => void,
): { readonly isTooLarge: boolean } {
  const decoder = new StringDecoder("utf8");
  const state = { isTooLarge: false };
  let bytes = 0;
  stdout!.on("data", (chunk: Buffer) => {
    const left = most - bytes;
    bytes += chunk.length;
    if (state.isTooLarge) return;
    const text = decoder.write(chunk.length > left ? chunk.subarray(0, left) : chunk);
    if (text !== "") onText(text);
    if (chunk.length <= left) return;
    state.isTooLarge = true;
    stop();
  });
  stdout!.on("end", () => {
    const rest = decoder.end();
    if (rest !== "" && !state.isTooLarge) onText(rest);
  });
  return state;
}

function keepTail({ stderr }: ChildProcess): () => string {
  let tail = "";
  stderr!.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-TAIL);
  });
  return () => tail.trim();
}

/** A program that does not read its input is none of our business. */
function feed({ stdin }: ChildProcess, input: string): void {
  stdin!.on("error", () => {});
  stdin!.end(input);
}

/** Resolves when it ended and its output was read. */
async function exitOf(
  child: ChildProcess,
  program: string,
): Promise<[code: number | null, signal: NodeJS.Signals | null]> {
  const closed = once(child, "close");
  try {
    await once(child, "exit");
  } catch (cause) {
    closed.catch(() => {});
    const { code } = cause as NodeJS.ErrnoException;
    throw new GatewayError(
      "io_error",
      `The program "${program}" cannot be started (${code ?? "unknown error"}).`,
      { hint: "Check that it is installed and in PATH.", cause },
    );
  }
  // Processes that it left behind would keep its output open, and work on unseen.
  const timer = setTimeout(() => killGroup(child, 0), REST_MS);
  await closed;
  clearTimeout(timer);
  return [child.exitCode, child.signalCode];
}

/** Ends a process and all that it started, kindly at first. */
function killGroup(child: ChildProcess, kindMs: number): void {
  if (kindMs === 0) return kill(child, "SIGKILL");
  kill(child, "SIGTERM");
  const timer = setTimeout(() => kill(child, "SIGKILL"), kindMs);
  child.once("close", () => clearTimeout(timer));
}

function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

function tooLarge(most: number): GatewayError {
  return new GatewayError("too_large", `The program wrote more than ${most} bytes.`, {
    hint: "Raise output of the skill, or let it write to a file.",
  });
}
