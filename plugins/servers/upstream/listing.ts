import type { Logger } from "pino";
import { type Catalogue, toGatewayError } from "propylon";
import { backoffDelay, type BackoffPolicy, makeCatalogue } from "propylon/kit";
import { type LeftOut, LISTS, LeftOutLog, type ListName } from "propylon/internal";
import type { Clock } from "../wire/clock.ts";
import type { Connection } from "../connection/connection.ts";
import type { Mirrors } from "../wire/envelope.ts";
import { fetchLists } from "../connection/lists.ts";

/** What a {@link Listing} works with. */
export interface ListingOptions {
  readonly name: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Longest wait for one page, in milliseconds. */
  readonly timeout: number;
  /** Waits before lists that could not be read are read again. */
  readonly backoff: BackoffPolicy;
  /** What to show until the server's own lists arrive. */
  readonly catalogue: Catalogue;
  /** The connection in use. */
  current(): Connection | undefined;
  /** A later reading ended; `problem` says what is wrong with it. */
  judge(connection: Connection, problem: string | undefined): void;
  /** The catalogue was replaced. */
  changed(lists: readonly ListName[]): void;
}

/** Keeps the last known lists of a server and reads them again when the server says so. */
export class Listing {
  catalogue: Catalogue;
  /** Which arguments go into headers, as last read. */
  mirrors: Mirrors = new Map();
  /** Whether lists were read at all. */
  isRead = false;
  readonly #options: ListingOptions;
  readonly #stale = new Set<ListName>();
  /** Lists that changed on other connections while one is read there. */
  readonly #beside = new Map<Connection, Set<ListName>>();
  #refresher: Connection | undefined;
  #cancelRetry: (() => void) | undefined;
  /** Readings in a row that failed. */
  #failures = 0;
  readonly #leftOut: LeftOutLog;

  constructor(options: ListingOptions) {
    this.#options = options;
    this.#leftOut = new LeftOutLog(options.name, options.log);
    this.catalogue = options.catalogue;
  }

  /** Reads every list of a new connection; resolves with what went wrong, as a sentence. Never rejects. */
  read(connection: Connection): Promise<string | undefined> {
    for (const list of LISTS) this.#stale.add(list);
    return this.#readStale(connection);
  }

  /** A list changed at the server. Changes that come while one is read are read once more, together. */
  outdated(list: ListName): void {
    this.#stale.add(list);
    const connection = this.#options.current();
    if (connection && connection !== this.#refresher) void this.#again(connection);
  }

  /**
   * A list changed on a connection beside the current one: over stdio that is another process, and what it offers now is what
   * its callers are to see.
   */
  async outdatedBeside(connection: Connection, ...lists: readonly ListName[]): Promise<void> {
    const waiting = this.#beside.get(connection);
    if (waiting) return lists.forEach((list) => waiting.add(list));
    const stale = new Set(lists);
    this.#beside.set(connection, stale);
    try {
      while (stale.size > 0) await this.#fetchBeside(connection, stale);
    } catch (error) {
      this.#options.log.debug({ err: error, server: this.#options.name }, "lists not read");
    } finally {
      this.#beside.delete(connection);
    }
  }

  /** What is said of the server itself stays that of the current connection. */
  async #fetchBeside(connection: Connection, stale: Set<ListName>): Promise<void> {
    const only = new Set(stale);
    stale.clear();
    const { timeout } = this.#options;
    const fetched = await fetchLists(connection, this.catalogue, { only, timeout });
    const isAlone = this.#options.current() === undefined;
    const { capabilities, instructions, serverInfo } = isAlone ? fetched.catalogue : this.catalogue;
    this.#leftOut.tell(fetched.leftOut, fetched.catalogue);
    const own = { capabilities, instructions, serverInfo };
    if (only.has("tools")) this.#learn(connection, fetched.mirrors);
    this.#replace(makeCatalogue({ ...fetched.catalogue, ...own }), fetched.changed);
  }

  /** What is left out of the lists, and what some clients refuse of them. */
  get leftOut(): readonly LeftOut[] {
    return this.#leftOut.all;
  }

  /** Reads nothing any more. */
  close(): void {
    this.#cancelRetry?.();
  }

  async #again(connection: Connection): Promise<void> {
    this.#options.judge(connection, await this.#readStale(connection));
  }

  async #readStale(connection: Connection): Promise<string | undefined> {
    this.#cancelRetry?.();
    this.#refresher = connection;
    let problem: string | undefined;
    while (this.#stale.size > 0 && problem === undefined && this.#refresher === connection) {
      const only = new Set(this.#stale);
      this.#stale.clear();
      problem = await this.#fetch(connection, only);
      if (problem !== undefined) this.#retryLater(connection, only);
      else this.#failures = 0;
    }
    if (this.#refresher === connection) this.#refresher = undefined;
    return problem;
  }

  async #fetch(connection: Connection, only: ReadonlySet<ListName>): Promise<string | undefined> {
    const { timeout } = this.#options;
    try {
      const fetched = await fetchLists(connection, this.catalogue, { only, timeout });
      if (connection !== this.#options.current()) return undefined;
      this.#learn(connection, fetched.mirrors);
      this.#leftOut.tell(fetched.leftOut, fetched.catalogue);
      this.#replace(fetched.catalogue, fetched.changed);
      return fetched.problem;
    } catch (error) {
      // The connection broke meanwhile, which it reports itself.
      return toGatewayError(error).message;
    }
  }

  #retryLater(connection: Connection, only: ReadonlySet<ListName>): void {
    for (const list of only) this.#stale.add(list);
    const { clock, backoff } = this.#options;
    const wait = backoffDelay(++this.#failures, backoff, 0, clock.random());
    this.#cancelRetry = clock.after(wait, () => {
      if (connection === this.#options.current()) void this.#again(connection);
    });
  }

  #learn(connection: Connection, mirrors: Mirrors): void {
    connection.mirrors = mirrors;
    this.mirrors = mirrors;
    this.isRead = true;
  }

  /** An unchanged catalogue stays the very same object. */
  #replace(catalogue: Catalogue, changed: readonly ListName[]): void {
    if (fingerprint(this.catalogue) === fingerprint(catalogue)) return;
    this.catalogue = catalogue;
    this.#options.changed(changed);
  }
}

function fingerprint({ capabilities, instructions, serverInfo, hash }: Catalogue): string {
  return JSON.stringify([capabilities, instructions, serverInfo, hash]);
}
