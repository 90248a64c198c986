import type { PluginContext } from "propylon";
import { setTicker } from "propylon/kit";
import { sql } from "kysely";
import { pruneAudit } from "./audit-rows.ts";
import { readEpoch } from "./changes.ts";
import type { ReplayGuard } from "./replay.ts";
import { type Database, timestamp } from "./tables.ts";

/** How often it is done, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Notes of changes that stay; whoever is further behind reads everything. */
const MAX_EPOCHS = 10_000;
/** Tokens in one statement. */
const BATCH = 500;

/** When tokens were last used, and what is not needed any more: once a minute, and never while somebody waits. */
export class Housekeeping {
  readonly #db: Database;
  readonly #replay: ReplayGuard;
  readonly #log: PluginContext["log"];
  readonly #used = new Set<string>();

  readonly #retention: number;

  /** @param retention how long rows of the audit are kept, in milliseconds */
  constructor(
    db: Database,
    replay: ReplayGuard,
    { log, retention }: { readonly log: PluginContext["log"]; readonly retention: number },
  ) {
    this.#db = db;
    this.#replay = replay;
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
      await pruneAudit(this.#db, this.#retention);
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
      .where("former_until", "<=", timestamp())
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
