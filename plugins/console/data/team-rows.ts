import { sql } from "kysely";
import type { ConsoleDatabase } from "./database.ts";
import type { RetiredRow } from "./tables.ts";

/** What is kept of the teams: the only place that writes it. */
export class TeamRows {
  readonly #database: ConsoleDatabase;

  constructor(database: ConsoleDatabase) {
    this.#database = database;
  }

  /** Every instance, and every team that is still to be deleted. */
  async ids(): Promise<string[]> {
    const { db } = this.#database;
    const [instances, retired] = await Promise.all([
      db.selectFrom("instance").select("id").orderBy("id").execute(),
      db.selectFrom("retired_team").select("id").orderBy("id").execute(),
    ]);
    return [...instances, ...retired].map(({ id }) => id);
  }

  /** @returns false when the instance is gone */
  markPending(id: string): Promise<boolean> {
    return this.#update(id, { team_status: "pending", team_reason: null });
  }

  /** @param reason what is not in force yet, as a sentence */
  markProvisioned(id: string, reason: string | null): Promise<boolean> {
    return this.#update(id, { team_status: "provisioned", team_reason: reason });
  }

  markFailed(id: string, reason: string): Promise<boolean> {
    return this.#update(id, { team_status: "failed", team_reason: reason });
  }

  /** A new token, which nobody has seen. */
  async keepToken(id: string, sealed: string): Promise<void> {
    const now = new Date().toISOString();
    await this.#database.db
      .updateTable("instance")
      .set({
        team_jwt: sealed,
        team_status: "provisioned",
        team_reason: null,
        provisioned_at: sql`coalesce(provisioned_at, ${now})`,
        revealed_at: null,
      })
      .where("id", "=", id)
      .execute();
    this.#database.changed("instances");
  }

  /** @returns false when this very token was shown before, or is not the one that is kept any more */
  async markRevealed(id: string, sealed: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.db
      .updateTable("instance")
      .set({ revealed_at: new Date().toISOString() })
      .where("id", "=", id)
      .where("team_jwt", "=", sealed)
      .where("revealed_at", "is", null)
      .executeTakeFirst();
    this.#database.changed("instances");
    return numUpdatedRows > 0n;
  }

  findRetired(id: string): Promise<RetiredRow | undefined> {
    const { db } = this.#database;
    return db.selectFrom("retired_team").selectAll().where("id", "=", id).executeTakeFirst();
  }

  async forgetRetired(id: string): Promise<void> {
    await this.#database.db.deleteFrom("retired_team").where("id", "=", id).execute();
  }

  async #update(
    id: string,
    values: {
      readonly team_status: "pending" | "provisioned" | "failed";
      readonly team_reason: string | null;
    },
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.db
      .updateTable("instance")
      .set(values)
      .where("id", "=", id)
      .executeTakeFirst();
    this.#database.changed("instances");
    return numUpdatedRows > 0n;
  }
}
