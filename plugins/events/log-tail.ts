import { LEVELS, type EventLevel } from "./event.ts";
import { levelOf } from "./subscription.ts";

/** What is kept: lines, and their characters. */
const MAX_LINES = 4_000;
const MAX_SIZE = 1_048_576;
/** Characters of one line; a longer one is kept up to here. */
const MAX_LINE = 65_536;
/** Characters of the lines of one answer. */
const MAX_ANSWER = 524_288;

/** A line of the log as an object. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Which lines are wanted. */
export interface LogQuery {
  readonly limit: number;
  /** The least severe. */
  readonly level: EventLevel;
}

/** The last lines of the log, as they were written. Only {@link read} looks into them: a line that nobody reads costs its memory. */
export class LogTail {
  readonly #lines: string[] = [];
  #size = 0;

  /** Keeps a line, and lets go of the oldest beyond the bounds. */
  add(line: string): void {
    // A slice of a string keeps the whole of it in memory.
    const kept = line.length > MAX_LINE ? structuredClone(line.slice(0, MAX_LINE)) : line;
    this.#lines.push(kept);
    this.#size += kept.length;
    while (this.#lines.length > MAX_LINES || this.#size > MAX_SIZE)
      this.#size -= this.#lines.shift()!.length;
  }

  /** The newest lines that are wanted, oldest first. */
  read({ limit, level }: LogQuery): readonly LogLine[] {
    const found: LogLine[] = [];
    let size = 0;
    for (let at = this.#lines.length - 1; at >= 0 && found.length < limit; at--) {
      const line = parseLine(this.#lines[at]!);
      if (LEVELS.indexOf(levelOf(line["level"])) < LEVELS.indexOf(level)) continue;
      size += this.#lines[at]!.length;
      if (size > MAX_ANSWER) break;
      found.push(line);
    }
    return found.toReversed();
  }
}

/** A line of the log as an object. A logger of somebody else may write something other than JSON, and a long line is cut. */
export function parseLine(text: string): LogLine {
  try {
    const line: unknown = JSON.parse(text);
    if (typeof line === "object" && line !== null) return line as LogLine;
  } catch {
    // Shown as it is.
  }
  const [, level] = /^\{"level":"(\w{1,20})"/.exec(text) ?? [];
  const [, ts] = /"ts":"([^"]{1,40})"/.exec(text.slice(0, 200)) ?? [];
  return { ...(level && { level }), ...(ts && { ts }), msg: text };
}
