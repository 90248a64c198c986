import type { Logger } from "pino";
import { type LeftOut, leftOutLine, MOST_TOLD } from "../call/left-out-entry.ts";
import { doubtsOf } from "./schema-doubts.ts";
import type { Catalogue } from "../call/server.ts";

/**
 * Warns of malformed entries of a server's lists.
 *
 * @example
 * const leftOutLog = new LeftOutLog(name, gateway.log);
 * leftOutLog.tell(leftOut, catalogue);
 */
export class LeftOutLog {
  readonly #server: string;
  readonly #log: Logger;
  /** What the last warnings were about, and of which lists. */
  #told = "";
  #hash: string | undefined;
  #all: readonly LeftOut[] = [];

  constructor(server: string, log: Logger) {
    this.#server = server;
    this.#log = log;
  }

  /** What is left out, and what some clients refuse. */
  get all(): readonly LeftOut[] {
    return this.#all;
  }

  /** One line for all of a kind, and again only when that changes: a server decides how often its lists are read. */
  tell(leftOut: readonly LeftOut[], { tools, hash }: Pick<Catalogue, "tools" | "hash">): void {
    const doubts = hash === this.#hash ? this.#all.filter(({ isKept }) => isKept) : doubtsOf(tools);
    this.#hash = hash;
    this.#all = [...leftOut, ...doubts];
    const told = JSON.stringify(this.#all);
    if (told === this.#told) return;
    this.#told = told;
    this.#warn(leftOut, "malformed entries of a server's lists are left out");
    this.#warn(doubts, "some clients and models refuse tools of a server");
  }

  #warn(all: readonly LeftOut[], message: string): void {
    if (all.length === 0) return;
    const entries = all.slice(0, MOST_TOLD).map(leftOutLine);
    this.#log.warn({ server: this.#server, entries, count: all.length }, message);
  }
}
