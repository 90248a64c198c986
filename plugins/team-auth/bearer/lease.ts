import { PostgresAdapter, sql } from "kysely";
import { within } from "propylon/kit";
import { readEpoch } from "../directory/changes.ts";
import type { Database } from "../tables/tables.ts";

/** So long a gateway may answer from what it knows, since it last heard from the database, in milliseconds. */
export const LEASE_MS = 2_000;
/** How often it is renewed: a change by hand is noticed so, too. */
export const RENEW_MS = 500;
/** How far apart the clocks of a gateway and its database may be, in milliseconds. */
const SKEW_WARNING_MS = 30_000;
export const SKEW_LIMIT_MS = 300_000;

/** The database's clock in seconds; no other is compared. */
const NOW = sql<number>`extract(epoch FROM clock_timestamp())::double precision`;

/**
 * The right to answer from a snapshot. It is counted from before the question to the database, by a clock that never jumps, so it
 * ends here before anybody else takes this gateway for gone.
 */
export class Lease {
  readonly #db: Database;
  readonly #id: string;
  readonly #isShared: boolean;
  #until = -Infinity;
  /** A clock that never jumps stands still while the machine sleeps; the other one ends the lease then. */
  #wallUntil = -Infinity;
  #skew = 0;

  /** @param isShared whether other replicas use the tables */
  constructor(db: Database, id: string, isShared: boolean) {
    this.#db = db;
    this.#id = id;
    this.#isShared = isShared && db.getExecutor().adapter instanceof PostgresAdapter;
  }

  get isValid(): boolean {
    return performance.now() < this.#until && Date.now() < this.#wallUntil;
  }

  /** The time of the database, in milliseconds since 1970: what counts for all gateways is not for one of their clocks to say. */
  get now(): number {
    return Date.now() + this.#skew;
  }

  /** A sentence when the clocks of this gateway and its database are too far apart for tokens that end. */
  get skew(): { readonly ms: number; readonly isLarge: boolean; readonly isTooLarge: boolean } {
    const ms = Math.abs(this.#skew);
    return { ms, isLarge: ms > SKEW_WARNING_MS, isTooLarge: ms > SKEW_LIMIT_MS };
  }

  /**
   * Shows life, and extends the right as soon as everything up to now is applied.
   *
   * @param applied up to which epoch the snapshot is
   * @param catchUp brings the snapshot up to an epoch
   */
  async renew(applied: number, catchUp: (epoch: number) => Promise<unknown>): Promise<void> {
    const begin = performance.now();
    const wallBegin = Date.now();
    const epoch = this.#isShared ? await this.#show(applied) : await readEpoch(this.#db);
    await catchUp(epoch);
    this.#until = begin + LEASE_MS;
    this.#wallUntil = wallBegin + LEASE_MS;
  }

  /** Which others have not applied an epoch. Those whose right has ended are no longer counted, and learn of it when they come back. */
  async behind(epoch: number): Promise<readonly string[]> {
    if (!this.#isShared) return [];
    // Waits for a renewal that is under way, and looks again.
    await this.#db
      .deleteFrom("replica")
      .where("renewed_at", "<", sql<number>`${NOW} - ${LEASE_MS / 1_000}`)
      .where("id", "<>", this.#id)
      .execute();
    const rows = this.#db.selectFrom("replica").select("id").where("applied", "<", epoch);
    return (await rows.where("id", "<>", this.#id).execute()).map(({ id }) => id);
  }

  async release(): Promise<void> {
    this.#until = -Infinity;
    if (!this.#isShared) return;
    const row = this.#db.deleteFrom("replica").where("id", "=", this.#id).execute();
    await within(row, LEASE_MS);
  }

  async #show(applied: number): Promise<number> {
    const row = { id: this.#id, applied, renewed_at: NOW };
    await this.#db
      .insertInto("replica")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
      .execute();
    const { epoch, now } = await this.#db
      .selectFrom("meta")
      .select(["value as epoch", NOW.as("now")])
      .where("name", "=", "epoch")
      .executeTakeFirstOrThrow();
    this.#skew = now * 1_000 - Date.now();
    return Number(epoch);
  }
}
