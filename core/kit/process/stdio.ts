import type { Logger } from "pino";
import { within } from "../timers.ts";
import { GatewayError } from "../errors.ts";
import { type Child, type CloseTimes, type Exit, spawnChild } from "./child.ts";
import { readInTurns } from "../chunks.ts";
import { LineFramer } from "./lines.ts";
import { secretsOfEntry } from "../mask.ts";
import { LastWords, StderrLog } from "./stderr.ts";

/** Unsent input of a child that does not read, in UTF-16 units, above which it is given up. */
const MAX_UNSENT = 64 * 1024 * 1024;

/** How long the last output of a dead child may take to arrive, in milliseconds; a surviving grandchild may hold the pipe. */
const LINGER = 50;

/** What {@link spawnStdio} needs to know and whom to tell. */
export interface StdioOptions {
  /** Name of the server, for messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The entry's own variables, on top of a short list of harmless ones. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Largest message in bytes. */
  readonly maxMessage: number;
  readonly log: Logger;
  /** One line as its chunks without the newline, neither joined nor decoded. Invalid JSON comes here too. */
  onMessage(chunks: readonly Buffer[], length: number): void;
  /** A line above `maxMessage` was dropped; `head` is its first bytes, at least 4 KiB, `tail` its last. The channel goes on. */
  onOversize(head: Buffer, length: number, tail: Buffer): void;
  /** What the child writes to stderr, as it comes. */
  onStderr?(chunk: Buffer): void;
  /** The channel has ended, whatever the reason, `close()` included. Called exactly once, after the last message. */
  onClose(error: GatewayError): void;
  /** Patience when closing; see {@link CloseTimes}. */
  readonly times?: Partial<CloseTimes>;
  /** Kills the child and everything it started, at once, when it aborts. */
  readonly kill?: AbortSignal | undefined;
}

/**
 * A child process as a channel of messages, one per line.
 *
 * @example const channel: StdioChannel = await spawnStdio(options);
 */
export interface StdioChannel {
  readonly pid: number;
  /** What the child last wrote to stderr, at most 64 KiB. */
  readonly stderrTail: string;
  /**
   * Sends a message (without newlines). All messages of one turn of the event loop go out in one write.
   * @throws {GatewayError} `upstream_error` when the channel has ended
   */
  send(message: string): void;
  /**
   * Ends the child and everything it started: end of input, after 2 s SIGTERM, after 3 s more SIGKILL. Resolves when all
   * that is done; never rejects.
   */
  close(): Promise<void>;
}

/**
 * Starts a program and makes its stdin and stdout a channel of messages (MCP stdio transport).
 * @throws {GatewayError} `upstream_error` with a hint when it cannot be started
 *
 * @example
 * const child = await spawnStdio({ name, command: "node", args: ["server.mjs"], cwd, env, ...listeners });
 * child.send(JSON.stringify(request));
 */
export async function spawnStdio(options: StdioOptions): Promise<StdioChannel> {
  const { name, command, args, cwd, times } = options;
  const child = await spawnChild({ name, command, args, cwd, env: options.env }, times);
  killWith(child, options.kill);
  return new Channel(child, options);
}

/** A signal may outlive its children by far. */
function killWith(child: Child, signal: AbortSignal | undefined): void {
  if (!signal) return;
  const kill = (): void => child.kill();
  if (signal.aborted) return kill();
  signal.addEventListener("abort", kill, { once: true });
  void child.exited.then(() => signal.removeEventListener("abort", kill));
}

class Channel implements StdioChannel {
  readonly pid: number;
  readonly #child: Child;
  readonly #options: StdioOptions;
  readonly #stderr: StderrLog;
  #queue = "";
  #ended: GatewayError | undefined;

  constructor(child: Child, options: StdioOptions) {
    this.pid = child.pid;
    this.#child = child;
    this.#options = options;
    this.#stderr = new StderrLog(options.log, options.name, secretsOfEntry(options));
    this.#listen();
  }

  get stderrTail(): string {
    return this.#stderr.text;
  }

  send(message: string): void {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#queue === "") setImmediate(this.#flush);
    this.#queue += `${message}\n`;
    if (this.#queue.length + this.#child.stdin.writableLength > MAX_UNSENT)
      throw this.#fail("does not read its input", 0);
  }

  close(): Promise<void> {
    this.#flush();
    const closed = this.#child.close();
    this.#end(this.#error("was closed"));
    return closed;
  }

  /** After the poll phase: calls that came in on many sockets share one write. */
  readonly #flush = (): void => {
    const queue = this.#queue;
    if (queue === "") return;
    this.#queue = "";
    if (this.#ended === undefined) this.#child.stdin.write(queue);
  };

  #listen(): void {
    const { stdin, stdout, stderr, exited } = this.#child;
    const framer = new LineFramer(this.#options.maxMessage, {
      onLine: (chunks, length) => this.#options.onMessage(chunks, length),
      onOversize: (head, length, tail) => this.#options.onOversize(head, length, tail),
    });
    readInTurns(stdout, (bytes) => {
      if (this.#ended === undefined) framer.push(bytes);
    });
    readInTurns(stderr, (bytes) => {
      this.#stderr.push(bytes);
      this.#options.onStderr?.(bytes);
    });
    // A crash breaks the pipes before the exit is known; the exit is the better message.
    const broken = (what: string) => () => void setTimeout(() => this.#fail(what), LINGER);
    stdin.on("error", broken("closed its input"));
    stdout.on("error", broken("broke its output")).on("end", broken("closed its output"));
    stderr.on("error", () => undefined);
    const drained = Promise.all(
      [stdout, stderr].map((pipe) => new Promise<void>((settle) => pipe.once("close", settle))),
    );
    void exited.then((exit) => this.#onExit(exit, drained));
  }

  async #onExit(exit: Exit, drained: Promise<unknown>): Promise<void> {
    await within(drained, LINGER);
    this.#end(this.#exitError(exit));
    await this.#child.close();
  }

  #exitError({ code, signal }: Exit): GatewayError {
    const line = this.#stderr.lastLine;
    const what = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    const cause = line === "" ? undefined : new LastWords(line);
    return this.#error(what, { exitCode: code, signal }, cause);
  }

  #error(
    what: string,
    data: Readonly<Record<string, unknown>> = {},
    cause?: LastWords,
  ): GatewayError {
    const { name } = this.#options;
    return new GatewayError("upstream_error", `Server "${name}" ${what}.`, {
      data: { server: name, ...data },
      cause,
    });
  }

  /** Gives up a child that lives but cannot be talked to. */
  #fail(what: string, patience?: number): GatewayError {
    if (this.#ended === undefined) void this.#child.close(patience);
    return this.#end(this.#error(what));
  }

  #end(error: GatewayError): GatewayError {
    if (this.#ended !== undefined) return this.#ended;
    this.#ended = error;
    this.#queue = "";
    this.#options.onClose(error);
    return error;
  }
}
