import type { Logger } from "pino";
import type { LeftOut } from "./entries.ts";

/** Entries that are named in one warning. */
const MOST_TOLD = 10;

/**
 * Warns of malformed entries of a server's lists.
 *
 * @example
 * const leftOutLog = new LeftOutLog(name, gateway.log);
 * leftOutLog.tell(leftOut);
 */
export class LeftOutLog {
  readonly #server: string;
  readonly #log: Logger;
  /** What the last warning was about. */
  #told = "[]";

  constructor(server: string, log: Logger) {
    this.#server = server;
    this.#log = log;
  }

  /** One line for all that is left out, and again only when that changes: a server decides how often its lists are read. */
  tell(leftOut: readonly LeftOut[]): void {
    const told = JSON.stringify(leftOut);
    if (leftOut.length > 0 && told !== this.#told) {
      const entries = leftOut
        .slice(0, MOST_TOLD)
        .map(({ kind, name, why }) => `${kind} ${JSON.stringify(name)}: ${why}`);
      this.#log.warn(
        { server: this.#server, entries, count: leftOut.length },
        "malformed entries of a server's lists are left out",
      );
    }
    this.#told = told;
  }
}
