import { within } from "propylon/kit";
import { type Lease, SKEW_LIMIT_MS } from "./lease.ts";
import { away } from "../refusals.ts";
import { type Database, timestamp } from "../tables/tables.ts";

/** How long a request waits for the database to say whether a token was used, in milliseconds. */
const PATIENCE_MS = 2_000;

/** Which per-turn tokens were used, on any gateway. */
export class ReplayGuard {
  readonly #db: Database;
  readonly #lease: Pick<Lease, "now" | "skew">;

  constructor(db: Database, lease: Pick<Lease, "now" | "skew">) {
    this.#db = db;
    this.#lease = lease;
  }

  /**
   * Whether this is the first use of a `jti`, which the insert decides: of two at once one is the second.
   *
   * @param until end of the token's life in milliseconds since 1970
   * @throws {GatewayError} `unavailable` while the database is away, and where this gateway's clock is far behind: what cannot be
   * checked is not let in
   */
  async use(jti: string, until: number): Promise<boolean> {
    if (this.#lease.skew.isTooLarge) throw away();
    const insert = this.#db
      .insertInto("replay")
      .values({ jti, expires_at: timestamp(until) })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (!(await within(insert, PATIENCE_MS))) {
      insert.catch(() => {});
      throw away();
    }
    try {
      return Number((await insert).numInsertedOrUpdatedRows ?? 0) > 0;
    } catch (error) {
      throw away(error);
    }
  }

  /** Forgets the tokens that have ended at every gateway, also where the clock is behind. */
  async sweep(): Promise<void> {
    const before = timestamp(this.#lease.now - SKEW_LIMIT_MS);
    await this.#db.deleteFrom("replay").where("expires_at", "<", before).execute();
  }
}
