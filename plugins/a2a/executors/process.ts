import { once } from "node:events";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { GatewayError } from "propylon";
import { within } from "propylon/kit";
import { spawnChild, type Exit } from "propylon/process";

/** Between SIGTERM and SIGKILL, in milliseconds: less than a cancelled task may take to end. */
const TERM_MS = 2_000;
/** How long what a program left behind may keep its output open, in milliseconds. */
const REST_MS = 1_000;
/** How much of the end of what it complained about is kept, in characters. */
const TAIL = 2_000;

/** A program to run. */
export interface ProgramOrder {
  /** Whose it is, for messages. */
  readonly name: string;
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly string[];
  /** Variables of its own, on top of the few that every child gets. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly input: string;
  /** By name; what it complains of is told without them. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Most bytes it may write. */
  readonly most: number;
  readonly signal: AbortSignal;
  readonly onText: (text: string) => void;
}

/** How a program ended. */
export interface ProgramEnd extends Exit {
  /** The end of what it wrote to stderr. */
  readonly complaint: string;
}

/**
 * Runs a program in a process group of its own, to its end and that of its group: when the signal aborts, all of it gets SIGTERM and
 * two seconds later SIGKILL.
 *
 * @throws {GatewayError} `upstream_error` when it cannot be started; `too_large` when it writes too much; the signal's reason
 */
export async function runProgram(order: ProgramOrder): Promise<ProgramEnd> {
  const { name, argv, env, cwd, signal, input } = order;
  signal.throwIfAborted();
  const [command, ...args] = argv;
  const child = await spawnChild(
    { name, owner: "Skill", command: command!, args, cwd, env },
    { term: TERM_MS },
  );
  const stop = (): void => void child.close(0);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const closed = Promise.all([once(child.stdout, "close"), once(child.stderr, "close")]);
    const [output, complaint] = [
      hear(child.stdout, order, stop),
      keepTail(child.stderr, order.secrets),
    ];
    // A program that does not read its input is none of our business.
    child.stdin.on("error", () => {}).end(input);
    const exit = await child.exited;
    await within(closed, REST_MS);
    signal.throwIfAborted();
    if (output.isTooLarge) throw tooLarge(order.most);
    return { ...exit, complaint: complaint() };
  } finally {
    signal.removeEventListener("abort", stop);
    await child.close(0);
  }
}

/** Hands on what it writes, as whole characters, until it is too much. */
function hear(
  stdout: Readable,
  { most, onText }: ProgramOrder,
  stop: () => void,
): { readonly isTooLarge: boolean } {
  const decoder = new StringDecoder("utf8");
  const state = { isTooLarge: false };
  let left = most;
  const tell = (text: string): void => {
    if (text !== "") onText(text);
  };
  stdout.on("data", (chunk: Buffer) => {
    if (state.isTooLarge) return;
    tell(decoder.write(chunk.subarray(0, left)));
    state.isTooLarge = chunk.length > left;
    left -= chunk.length;
    if (state.isTooLarge) stop();
  });
  stdout.on("end", () => {
    if (!state.isTooLarge) tell(decoder.end());
  });
  return state;
}

function keepTail(stderr: Readable, secrets: ProgramOrder["secrets"]): () => string {
  const longestFirst = Object.entries(secrets).toSorted(([, a], [, b]) => b.length - a.length);
  // Kept besides, and left out at the end: a secret that is cut in two would not be known any more.
  const margin = longestFirst[0]?.[1].length ?? 0;
  let tail = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-TAIL - margin);
  });
  return () => {
    const isCut = tail.length === TAIL + margin;
    let words = tail;
    for (const [name, value] of longestFirst) words = words.replaceAll(value, `[${name}]`);
    return words.slice(isCut ? margin : 0).trim();
  };
}

function tooLarge(most: number): GatewayError {
  return new GatewayError("too_large", `The program wrote more than ${most} bytes.`, {
    hint: "Raise maxOutput of the skill, or let it write to a file.",
  });
}
