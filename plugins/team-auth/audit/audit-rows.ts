import { sql } from "kysely";
import { appendAudit, type AuditAnchor, type AuditRow } from "./audit.ts";
import { type Database, type Tables, timestamp, type Trx } from "../tables/tables.ts";

/** Rows that are read at a time. */
const PAGE = 1_000;

/** Where the chain ends, and the number of the last row there is. */
export interface AuditEnds {
  readonly head: AuditAnchor;
  readonly base: AuditAnchor;
  readonly last: number;
}

/** One statement, i.e. of one moment. */
export async function readEnds(db: Database): Promise<AuditEnds> {
  const rows = await db
    .selectFrom("audit_end")
    .select(["name", "seq", "hash"])
    .select((each) =>
      each
        .selectFrom("audit")
        .select(sql<number | string>`max(seq)`.as("max"))
        .as("last"),
    )
    .execute();
  const endOf = (end: "head" | "base"): AuditAnchor => {
    const row = rows.find(({ name }) => name === end);
    return { seq: Number(row?.seq ?? 0), hash: row?.hash ?? "" };
  };
  return { head: endOf("head"), base: endOf("base"), last: Number(rows[0]?.last ?? 0) };
}

/** Rows up to a number, the newest first. */
export async function* newestFirst(db: Database, from: number): AsyncIterable<AuditRow> {
  let below = from + 1;
  for (;;) {
    const page = db.selectFrom("audit").selectAll().where("seq", "<", below);
    const rows = await page.orderBy("seq", "desc").limit(PAGE).execute();
    for (const row of rows) yield toRow(row);
    if (rows.length < PAGE) return;
    below = Number(rows.at(-1)!.seq);
  }
}

/** Which rows {@link oldestFirst} gives. */
export interface AuditRange {
  /** Only rows behind this number. */
  readonly after?: number | undefined;
  /** Only rows from this time on, ISO 8601 in UTC. */
  readonly since?: string | undefined;
  /** Rows at most. */
  readonly limit?: number | undefined;
}

/** Rows in their order, a page in memory at a time. */
export async function* oldestFirst(
  db: Database,
  { after = 0, since = "", limit = Infinity }: AuditRange = {},
): AsyncIterable<AuditRow> {
  let given = 0;
  for (let behind = after; ;) {
    const page = db.selectFrom("audit").selectAll().where("seq", ">", behind);
    const size = Math.min(PAGE, limit - given);
    const rows = await page.where("at", ">=", since).orderBy("seq").limit(size).execute();
    for (const row of rows) yield toRow(row);
    given += rows.length;
    if (rows.length < PAGE || given >= limit) return;
    behind = Number(rows.at(-1)!.seq);
  }
}

/** PostgreSQL gives large numbers as texts. */
function toRow(row: Tables["audit"]): AuditRow {
  return { ...row, seq: Number(row.seq) };
}

/**
 * Removes rows from the beginning up to the first that is young enough, and says so in the chain: what it removed was not deleted by
 * somebody else.
 *
 * @param retention how long rows are kept, in milliseconds
 * @returns rows removed
 */
export async function pruneAudit(
  db: Database,
  retention: number,
  now = Date.now(),
): Promise<number> {
  const before = timestamp(now - retention);
  const first = db.selectFrom("audit").select("at").orderBy("seq").limit(1);
  const oldest = await first.executeTakeFirst();
  if (!oldest || oldest.at >= before) return 0;
  return db.transaction().execute(async (trx) => {
    // Locks first, as every writer does: in SQLite a transaction that read before cannot write any more.
    const head = trx.updateTable("audit_end").where("name", "=", "head");
    await head.set({ seq: sql<number>`seq` }).execute();
    const through = await lastBefore(trx, before);
    if (!through) return 0;
    await trx.updateTable("audit_end").set(through).where("name", "=", "base").execute();
    const { numDeletedRows } = await trx
      .deleteFrom("audit")
      .where("seq", "<=", through.seq)
      .executeTakeFirstOrThrow();
    const target = `audit:${through.seq}`;
    await appendAudit(trx, {
      at: timestamp(now),
      actor: "retention",
      action: "audit.prune",
      target,
    });
    return Number(numDeletedRows);
  });
}

/** Clocks of gateways differ: a row behind a younger one stays until that goes. */
async function lastBefore(trx: Trx, before: string): Promise<AuditAnchor | undefined> {
  const rows = trx.selectFrom("audit").orderBy("seq").limit(1);
  const young = await rows.select("seq").where("at", ">=", before).executeTakeFirst();
  const old = trx.selectFrom("audit").select(["seq", "hash"]);
  const last = await (young ? old.where("seq", "<", young.seq) : old)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  return last && { seq: Number(last.seq), hash: last.hash };
}
