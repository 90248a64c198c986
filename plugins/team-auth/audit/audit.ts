import { digestOf } from "propylon/kit";
import { sql } from "kysely";
import type { AuditEntry } from "../directory/changes.ts";
import type { Tables, Trx } from "../tables/tables.ts";

/** A row as it is exported: numbers are numbers, and details are JSON. */
export interface AuditRow {
  readonly seq: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly details: string | null;
  readonly correlation: string | null;
  readonly prev: string;
  readonly hash: string;
}

/** A place in the chain that somebody wrote down elsewhere. */
export type AuditAnchor = Pick<AuditRow, "seq" | "hash">;

/**
 * Adds a row to the chain, in the transaction of the change that it tells of. Writers wait for each other at the head's row until
 * the previous one has committed.
 */
export async function appendAudit(trx: Trx, entry: AuditEntry): Promise<AuditAnchor> {
  const before = await moveHead(trx);
  const row = {
    seq: Number(before.seq),
    at: entry.at,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    details: entry.details === undefined ? null : JSON.stringify(entry.details),
    correlation: entry.correlation ?? null,
    prev: before.hash,
  };
  const hash = hashOf(row);
  await trx
    .insertInto("audit")
    .values({ ...row, hash })
    .execute();
  await trx.updateTable("audit_end").set({ hash }).where("name", "=", "head").execute();
  return { seq: row.seq, hash };
}

/** The number of the new row, and the hash of the previous one. */
function moveHead(trx: Trx): Promise<Tables["audit_end"]> {
  return trx
    .updateTable("audit_end")
    .set({ seq: sql<number>`seq + 1` })
    .where("name", "=", "head")
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Of a row, without its own hash. The members in one order, as JSON, which is one text for one row. */
export function hashOf(row: Omit<AuditRow, "hash">): string {
  const { seq, at, actor, action, target, details, correlation, prev } = row;
  const text = JSON.stringify([seq, at, actor, action, target, details, correlation, prev]);
  return digestOf(text);
}
