import type { GatewayError } from "../errors.ts";
import { maskSaid } from "../mask.ts";
import type { Logger } from "pino";
import { LineFramer } from "./lines.ts";

const KEPT = 64 * 1024;
/** Longest part of a line that is logged or quoted, in characters. */
const LINE = 500;
/** Lines logged per second; a child that writes a gigabyte must not fill the log with it. */
const LINES_PER_SECOND = 100;

/** The last line a child wrote before it died, as the cause of an error: for operators, since it may hold keys and paths. */
export class LastWords extends Error {
  override readonly name = "LastWords";
}

/** What a child says on stderr: its last 64 KiB kept, its lines logged at debug, a bounded number of them, without secrets. */
export class StderrLog {
  readonly #log: Logger;
  readonly #server: string;
  readonly #secrets: readonly string[];
  readonly #tail = new RingBuffer(KEPT);
  readonly #lines: LineFramer;
  #second = 0;
  #logged = 0;

  /** @param secrets what the child was given and may repeat */
  constructor(log: Logger, server: string, secrets: readonly string[] = []) {
    this.#log = log;
    this.#server = server;
    this.#secrets = secrets;
    this.#lines = new LineFramer(4 * LINE, {
      onLine: (chunks) => this.#write(Buffer.concat(chunks)),
      onOversize: (head) => this.#write(head),
    });
  }

  get text(): string {
    return this.#tail.text;
  }

  /** The last line that says anything, at most 500 characters; of npm, which ends with the path of a log, what it says first. */
  get lastLine(): string {
    const line = npmFailure(this.#tail.text) ?? this.#tail.lastLine(2 * LINE);
    return maskSaid(line.slice(0, 2 * LINE), this.#secrets).slice(0, LINE);
  }

  push(chunk: Buffer): void {
    this.#tail.append(chunk);
    if (this.#log.isLevelEnabled("debug")) this.#lines.push(chunk);
  }

  #shown(line: Buffer): string {
    const text = line.toString("utf8", 0, 4 * LINE).slice(0, 2 * LINE);
    return maskSaid(text, this.#secrets).slice(0, LINE);
  }

  #write(line: Buffer): void {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) this.#logged = 0;
    this.#second = second;
    this.#logged += 1;
    if (this.#logged <= LINES_PER_SECOND)
      this.#log.debug(
        { server: this.#server, stderr: this.#shown(line) },
        "server wrote to stderr",
      );
    else if (this.#logged === LINES_PER_SECOND + 1)
      this.#log.debug(
        { server: this.#server },
        "server writes too much to stderr; not logged for the rest of this second",
      );
  }
}

/** Why npm or npx failed: its first line that is not code. Most servers are started by npx, and a name is soon mistyped. */
function npmFailure(text: string): string | undefined {
  const lines = text.trimEnd().split(/[\r\n]+/);
  const isNpm = (line: string): boolean => line.startsWith("npm error ");
  if (!isNpm(lines.at(-1) ?? "")) return undefined;
  return lines.find((line) => isNpm(line) && !/^npm error (?:code|errno|syscall|path) /.test(line));
}

/**
 * What operators read: with the standard error of a child, which its calls' clients must not see.
 *
 * @example tracker.set("failed", { reason: reasonOf(error) });
 */
export function reasonOf({ message, cause }: GatewayError): string {
  return cause instanceof LastWords ? `${message.replace(/\.$/, "")}: ${cause.message}.` : message;
}

/**
 * The last bytes of a stream, in a ring of fixed size.
 *
 * @example
 * const said = new RingBuffer(65_536);
 * child.stderr.on("data", (chunk: Buffer) => said.append(chunk));
 */
export class RingBuffer {
  readonly #size: number;
  #ring: Buffer | undefined;
  #written = 0;

  /** @param size bytes kept */
  constructor(size: number) {
    this.#size = size;
  }

  append(chunk: Buffer): void {
    this.#ring ??= Buffer.alloc(this.#size);
    const kept = chunk.length > this.#size ? chunk.subarray(-this.#size) : chunk;
    this.#written += chunk.length - kept.length;
    const at = this.#written % this.#size;
    const fitting = kept.copy(this.#ring, at);
    if (fitting < kept.length) kept.copy(this.#ring, 0, fitting);
    this.#written += kept.length;
  }

  /** The bytes kept, as text. A character cut at the start is left out. */
  get text(): string {
    if (this.#ring === undefined) return "";
    if (this.#written <= this.#size) return this.#ring.toString("utf8", 0, this.#written);
    const at = this.#written % this.#size;
    const joined = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    return joined.toString("utf8").replace(/^\uFFFD+/, "");
  }

  /** The last whole lines, oldest first. */
  lines(max: number): readonly string[] {
    const lines = this.text.split(/\r?\n|\r/);
    if (lines.at(-1) === "") lines.pop();
    // The first one is what is left of a line.
    if (this.#written > this.#size) lines.shift();
    return max > 0 ? lines.slice(-max) : [];
  }

  /** The last line with anything on it, at most `limit` characters. */
  lastLine(limit: number): string {
    return (
      this.text
        .trimEnd()
        .split(/[\r\n]+/)
        .at(-1)
        ?.trim()
        .slice(0, limit) ?? ""
    );
  }
}
