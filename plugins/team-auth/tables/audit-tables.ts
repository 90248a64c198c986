import type { Kysely } from "kysely";

/** What stands before the first row of all. */
const NOTHING = "0".repeat(64);

/**
 * The two ends of the chain: `head`, its newest row, without which a cut at the end could not be told from no change, and `base`,
 * the newest row that the retention removed.
 */
// eslint-disable-next-line typescript/no-explicit-any -- tables are different before and after each step
export async function createAuditEnds(db: Kysely<any>): Promise<void> {
  await db.schema
    .createTable("audit_end")
    .addColumn("name", "text", (column) => column.primaryKey().notNull())
    .addColumn("seq", "bigint", (column) => column.notNull())
    .addColumn("hash", "text", (column) => column.notNull())
    .execute();
  const ends = ["head", "base"].map((name) => ({ name, seq: 0, hash: NOTHING }));
  await db.insertInto("audit_end").values(ends).execute();
}
