import { GatewayError, isGatewayError, type Json } from "propylon";
import { pause } from "propylon/kit";
import { sql } from "kysely";
import { type Reach, readAsking } from "./reach.ts";
import { away } from "../refusals.ts";
import { type Database, timestamp, type Trx } from "../tables/tables.ts";

/** Who makes a change, for the audit. */
export interface Author {
  /** `kind:id` of a principal, or `cli`. */
  readonly actor: string;
  /** Id of the token that asks, which goes no further than itself; default: somebody who may everything. */
  readonly token?: string | undefined;
  /** Joins this change with those of other systems. */
  readonly correlation?: string | undefined;
}

/** What the audit says about a change. */
export interface AuditEntry extends Author {
  readonly at: string;
  /** A noun and a verb, such as `team.rotate`. */
  readonly action: string;
  /** `kind:id` of what was changed. */
  readonly target: string;
  readonly details?: Json | undefined;
}

/** Writes an entry in the transaction of its change, so that neither is there without the other. */
export type AppendAudit = (trx: Trx, entry: AuditEntry) => Promise<unknown>;

/** What a change ended, on all gateways. */
export interface Ended {
  readonly sessions: number;
  readonly streams: number;
  readonly calls: number;
}

/** A change that is in force everywhere. */
export interface Changed<T> {
  readonly value: T;
  readonly ended: Ended;
}

/** What a transaction did. Without an entry it changed nothing. */
export interface ChangeOutcome<T> {
  readonly value: T;
  readonly entry?: Pick<AuditEntry, "action" | "target" | "details">;
}

/** @param reach how far the caller may go */
export type ChangeWork<T> = (trx: Trx, reach: Reach) => Promise<ChangeOutcome<T>>;

/** Puts what was committed up to an epoch in force here and on every other replica, and waits until it is. */
export type Spread = (epoch: number) => Promise<Ended>;

/** What {@link Changes} needs. */
export interface ChangesParts {
  readonly db: Database;
  readonly audit: AppendAudit;
  readonly spread: Spread;
}

export const NOTHING_ENDED: Ended = { sessions: 0, streams: 0, calls: 0 };

/** Deadlocks with somebody who changes rows by hand, and a file that somebody holds for a moment. */
const AGAIN: ReadonlySet<unknown> = new Set(["40P01", "40001"]);
const ATTEMPTS = 5;
const AGAIN_MS = 50;

/**
 * The one way in which anything is changed: a transaction with its entry in the audit, and then the wait until every gateway has
 * applied it. What was answered is in force.
 */
export class Changes {
  readonly db: Database;
  readonly #audit: AppendAudit;
  readonly #spread: Spread;

  constructor({ db, audit, spread }: ChangesParts) {
    this.db = db;
    this.#audit = audit;
    this.#spread = spread;
  }

  /**
   * @throws {GatewayError} what the work throws, and then nothing has changed; `unavailable` when the change is made and it is not
   * known whether every gateway has applied it
   */
  async make<T>(author: Author, work: ChangeWork<T>): Promise<Changed<T>> {
    const { value, epoch } = await this.#commit(author, work);
    if (epoch === undefined) return { value, ended: NOTHING_ENDED };
    try {
      return { value, ended: await this.#spread(epoch) };
    } catch (cause) {
      throw new GatewayError(
        "unavailable",
        "The change is made, but may not count everywhere yet.",
        {
          cause,
          hint: "Every gateway follows as soon as it reaches the database, and refuses everybody until then.",
        },
      );
    }
  }

  async #commit<T>(
    author: Author,
    work: ChangeWork<T>,
  ): Promise<{ readonly value: T; readonly epoch?: number }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.db.transaction().execute((trx) => this.#run(trx, author, work));
      } catch (error) {
        if (attempt === ATTEMPTS || !isTransient(error)) throw toAway(error);
        await pause(AGAIN_MS * attempt * Math.random(), new AbortController().signal);
      }
    }
  }

  /** The first statement locks: one change at a time, so that the order of epochs and of the audit is that of the commits. */
  async #run<T>(
    trx: Trx,
    author: Author,
    work: ChangeWork<T>,
  ): Promise<{ readonly value: T; readonly epoch?: number }> {
    const epoch = trx.updateTable("meta").where("name", "=", "epoch");
    await epoch.set({ value: sql<number>`value + 1` }).execute();
    const { token, ...who } = author;
    const { value, entry } = await work(
      trx,
      token === undefined ? undefined : await readAsking(trx, token),
    );
    if (!entry) return { value };
    const details =
      token === undefined ? entry.details : { ...entry.details, by: `token:${token}` };
    await this.#audit(trx, { at: timestamp(), ...who, ...entry, details });
    return { value, epoch: await readEpoch(trx) };
  }
}

/** Of the last change that is committed, or made in this transaction. */
export async function readEpoch(db: Database): Promise<number> {
  const row = db.selectFrom("meta").select("value").where("name", "=", "epoch");
  return Number((await row.executeTakeFirstOrThrow()).value);
}

/** A connection that broke is told as a database that is away; it is not known then whether the change was made. */
function toAway(error: unknown): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  const isLost =
    /^(?:08|57P0|ECONN|EPIPE|ETIMEDOUT)/.test(String(code)) ||
    /^Connection term|timeout/.test(message ?? "");
  return isLost && !isGatewayError(error) ? away(error) : error;
}

function isTransient(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: string };
  return AGAIN.has(code) || /database is locked/.test(message ?? "");
}
