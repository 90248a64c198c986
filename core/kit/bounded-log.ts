import { Buckets } from "./buckets.ts";
import { ExpiringMap } from "./expiring-map.ts";

/** Lines of one kind that are written at once, and one more after so many milliseconds. */
const BURST = 10;
const INTERVAL_MS = 6_000;
/** The same line is written once in so many milliseconds. */
const QUIET_MS = 60_000;
/** Most lines that are remembered as written. */
const MAX_LINES = 1_000;
const MAX_VALUES = 10;
const MAX_TEXT = 200;

/**
 * What a line says besides its message.
 *
 * @example const facts: LogFacts = { expected: resource.url, got: audiences };
 */
export type LogFacts = Readonly<Record<string, unknown>>;

/**
 * Writes a line.
 *
 * @example const write: WriteLine = (facts, message) => log.info(facts, message);
 */
export type WriteLine = (facts: LogFacts, message: string) => void;

/**
 * Tells the log of what strangers may cause as often as they like: ten lines of a kind, then ten a minute, each of which says how many
 * were left out before it, and the same line once a minute where it has a name. Long texts and lists are cut.
 *
 * @example
 * const refusals = new BoundedLog((facts, message) => log.info(facts, message));
 * refusals.tell("audience", { expected, got }, "a token was refused");
 */
export class BoundedLog {
  readonly #write: WriteLine;
  readonly #writeRest: WriteLine | undefined;
  readonly #lines = new Buckets(BURST, INTERVAL_MS, MAX_LINES);
  readonly #written = new ExpiringMap<true>(MAX_LINES);
  readonly #leftOut = new Map<string, number>();

  /** @param write writes a line @param writeRest writes one that is left out, at a level that nobody reads every day */
  constructor(write: WriteLine, writeRest?: WriteLine) {
    this.#write = write;
    this.#writeRest = writeRest;
  }

  /**
   * Tells of something.
   *
   * @param kind what is counted by; one of a closed list
   * @param line name of the line, where the same one is told once a minute
   */
  tell(kind: string, facts: LogFacts, message: string, line?: string): void {
    const leftOut = this.#leftOut.get(kind) ?? 0;
    if (this.#isNews(kind, line)) {
      this.#leftOut.delete(kind);
      this.#write({ ...shorten(facts), ...(leftOut > 0 && { leftOut }) }, message);
    } else {
      this.#leftOut.set(kind, leftOut + 1);
      this.#writeRest?.(shorten(facts), message);
    }
  }

  #isNews(kind: string, line: string | undefined): boolean {
    const name = JSON.stringify([kind, line]);
    if (line !== undefined && this.#written.get(name)) return false;
    if (this.#lines.take(kind, performance.now()) > 0) return false;
    if (line !== undefined) this.#written.set(name, true, Date.now() + QUIET_MS);
    return true;
  }
}

function shorten(facts: LogFacts): LogFacts {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, cut(value)]));
}

function cut(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, MAX_TEXT);
  if (Array.isArray(value)) return value.slice(0, MAX_VALUES).map(cut);
  return typeof value === "object" && value !== null ? undefined : value;
}
