import type { PluginContext } from "propylon";
import { setTicker } from "propylon/kit";
import { sql } from "kysely";
import { pruneAudit } from "../audit/audit-rows.ts";
import { readEpoch } from "../directory/changes.ts";
import type { Lease } from "./lease.ts";
import type { ReplayGuard } from "./replay.ts";
import { type Database, timestamp } from "../tables/tables.ts";

/** How often it is done, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Notes of changes that stay; a gateway further behind reads everything. */
const MAX_EPOCHS = 10_000;
/** Tokens in one statement. */
const BATCH = 500;

/** What {@link Housekeeping} needs. */
export interface HousekeepingParts {
  readonly db: Database;
  readonly replay: ReplayGuard;
  /** Whose time counts: a clock that is a year ahead must not remove the audit. */
  readonly lease: Pick<Lease, "now">;
  readonly log: PluginContext["log"];
  /** How long rows of the audit are kept, in milliseconds. */
  readonly retention: number;
}

/** When tokens were last used, and what is not needed any more: once a minute, and never while somebody waits. */
export class Housekeeping {
  readonly #db: Database;
  readonly #replay: ReplayGuard;
  readonly #log: PluginContext["log"];
  readonly #used = new Set<string>();

  readonly #lease: Pick<Lease, "now">;
  readonly #retention: number;

  constructor({ db, replay, lease, log, retention }: HousekeepingParts) {
    this.#db = db;
    this.#replay = replay;
    this.#lease = lease;
    this.#log = log;
    this.#retention = retention;
  }

  /** Notes that a token was used; costs a look into a set. */
  readonly used = (token: string): void => void this.#used.add(token);

  /** @returns what ends it, with a last round */
  start(): () => Promise<void> {
    const timer = setTicker(() => void this.#tidy(), INTERVAL_MS);
    return async () => {
      clearInterval(timer);
      await this.#tidy();
    };
  }

  async #tidy(): Promise<void> {
    try {
      await this.#writeUses();
      await this.#replay.sweep();
      await this.#endGraces();
      await this.#trim();
      await pruneAudit(this.#db, this.#retention, this.#lease.now);
    } catch (err) {
      this.#log.warn({ err }, "the tables of team-auth could not be tidied");
    }
  }

  async #writeUses(): Promise<void> {
    const used = [...this.#used];
    const last_used_at = timestamp();
    this.#used.clear();
    for (let begin = 0; begin < used.length; begin += BATCH) {
      const ids = used.slice(begin, begin + BATCH);
      await this.#db.updateTable("token").set({ last_used_at }).where("id", "in", ids).execute();
    }
  }

  /** The change is noted as any other, so that every gateway ends what is open on the tokens. */
  async #endGraces(): Promise<void> {
    await this.#db
      .updateTable("team")
      .set({ former_jti: null, former_until: null })
      .where("former_until", "<=", timestamp(this.#lease.now))
      .execute();
  }

  async #trim(): Promise<void> {
    const before = (await readEpoch(this.#db)) - MAX_EPOCHS;
    const trimmed = this.#db.updateTable("meta").where("name", "=", "trimmed");
    const moved = trimmed.where("value", "<", before).set({ value: sql<number>`${before}` });
    if (Number((await moved.executeTakeFirst()).numUpdatedRows) === 0) return;
    await this.#db.deleteFrom("change").where("epoch", "<=", before).execute();
  }
}
