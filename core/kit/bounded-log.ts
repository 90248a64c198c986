import { Buckets } from "./buckets.ts";

/** Lines of one kind that are written at once, and one more after so many milliseconds. */
const BURST = 10;
const INTERVAL_MS = 6_000;
const MAX_VALUES = 10;
const MAX_TEXT = 200;

/**
 * What a line says besides its message.
 *
 * @example const facts: LogFacts = { expected: resource.url, got: audiences };
 */
export type LogFacts = Readonly<Record<string, unknown>>;

/**
 * Tells the log of what strangers may cause as often as they like: ten lines of a kind, then ten a minute, each of which says how many
 * were left out before it. Long texts and lists are cut.
 *
 * @example
 * const refusals = new BoundedLog((facts, message) => log.info(facts, message));
 * refusals.tell("audience", { expected, got }, "a token was refused");
 */
export class BoundedLog {
  readonly #write: (facts: LogFacts, message: string) => void;
  readonly #lines = new Buckets(BURST, INTERVAL_MS, 100);
  readonly #leftOut = new Map<string, number>();

  /** @param write writes a line */
  constructor(write: (facts: LogFacts, message: string) => void) {
    this.#write = write;
  }

  /** @param kind what is counted by; one of a closed list */
  tell(kind: string, facts: LogFacts, message: string): void {
    const leftOut = this.#leftOut.get(kind) ?? 0;
    if (this.#lines.take(kind, performance.now()) > 0) {
      this.#leftOut.set(kind, leftOut + 1);
      return;
    }
    this.#leftOut.delete(kind);
    const entries = Object.entries(facts).map(([name, value]) => [name, cut(value)] as const);
    this.#write({ ...Object.fromEntries(entries), ...(leftOut > 0 && { leftOut }) }, message);
  }
}

function cut(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, MAX_TEXT);
  if (Array.isArray(value)) return value.slice(0, MAX_VALUES).map(cut);
  return typeof value === "object" && value !== null ? undefined : value;
}
