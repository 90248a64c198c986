import { checkInput } from "propylon/kit";
import { z } from "zod";
import { type AdminRoutes, queryOf } from "./admin-replies.ts";
import { verifyAudit } from "../audit/audit-check.ts";
import type { AuditRow } from "../audit/audit.ts";
import { newestFirst, oldestFirst, readEnds } from "../audit/audit-rows.ts";
import { hashSchema, instantSchema } from "../tables/fields.ts";
import type { Directory } from "../directory/directory.ts";
import type { Database } from "../tables/tables.ts";

const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const rangeSchema = z.strictObject({
  after: count.optional(),
  since: instantSchema.optional(),
  limit: count.min(1).optional(),
});
const newestSchema = z.strictObject({ newest: count.min(1).max(1_000) });
const anchorSchema = z
  .strictObject({ seq: count.min(1).optional(), hash: hashSchema.optional() })
  .transform(({ seq, hash }) => (seq && hash ? { seq, hash } : undefined));

/** The audit: as JSON lines, and whether its chain is whole. */
export function registerAudit({ operator }: AdminRoutes, open: () => Directory): void {
  operator("/audit", (event) => {
    const query = queryOf(event);
    const { db } = open();
    const rows =
      query["newest"] === undefined
        ? oldestFirst(db, checkInput(query, rangeSchema))
        : newest(db, checkInput(query, newestSchema).newest);
    const headers = { "content-type": "application/x-ndjson", "cache-control": "no-store" };
    return new Response(ReadableStream.from(linesOf(rows)), { headers });
  });
  operator("/audit/verify", (event) => {
    return verifyAudit(open().db, checkInput(queryOf(event), anchorSchema));
  });
}

async function* newest(db: Database, rows: number): AsyncIterable<AuditRow> {
  let left = rows;
  for await (const row of newestFirst(db, (await readEnds(db)).last)) {
    if (left-- === 0) return;
    yield row;
  }
}

async function* linesOf(rows: AsyncIterable<AuditRow>): AsyncIterable<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const row of rows) yield encoder.encode(`${JSON.stringify(row)}\n`);
}
