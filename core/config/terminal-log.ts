import { writeNow } from "../kit/standard-output.ts";
import { LogText, parseLine } from "./log-text.ts";

/** What may wait until the summary is there. */
const MAX_HELD = 1_000;

/** Writes the log to standard output as a person reads it, at once. */
export class TerminalLog {
  readonly #text: LogText;
  /** Lines that wait; `undefined` when none has to. */
  #held: string[] | undefined;

  constructor(screen: Pick<NodeJS.WriteStream, "isTTY"> & { hasColors?(): boolean }) {
    this.#text = new LogText(screen.isTTY && screen.hasColors?.() === true);
  }

  write(lines: string): void {
    if (!this.#held) return this.#show(lines);
    for (const line of lines.split("\n").filter((each) => each !== ""))
      this.#sort(line, this.#held);
  }

  /** Until {@link release} problems alone are shown: a start ends with a summary, which tells what servers do. */
  hold(): void {
    this.#held = [];
  }

  /** Shows what waited; states of servers are in the summary. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const line of held) this.#show(line);
  }

  #sort(line: string, held: string[]): void {
    const { level, server, state } = parseLine(line) ?? {};
    if (level !== "info") this.#show(line);
    else if (held.length < MAX_HELD && !(server !== undefined && state !== undefined))
      held.push(line);
  }

  #show(lines: string): void {
    writeNow(this.#text.toText(lines));
  }
}
