import type { PluginContext } from "propylon";
import { checkInput } from "propylon/kit";
import { z } from "zod";
import { verifyAudit } from "../audit/audit-check.ts";
import type { AuditRow } from "../audit/audit.ts";
import { newestFirst, oldestFirst, readEnds } from "../audit/audit-rows.ts";
import type { Directory } from "../directory/directory.ts";
import { AUDIT } from "../operations/audit-operations.ts";
import type { Database } from "../tables/tables.ts";

const newestSchema = z.strictObject({ newest: z.coerce.number().int().min(1).max(1_000) });

/** The audit: as JSON lines, and whether its chain is whole. */
export function registerAudit(gateway: PluginContext, open: () => Directory): void {
  AUDIT.read.serve(gateway, async ({ url: { searchParams } }, read) => {
    const { db } = open();
    const rows = searchParams.has("newest")
      ? newest(db, checkInput(Object.fromEntries(searchParams), newestSchema).newest)
      : oldestFirst(db, await read());
    const headers = { "content-type": "application/x-ndjson", "cache-control": "no-store" };
    return new Response(ReadableStream.from(linesOf(rows)), { headers });
  });
  AUDIT.verify.serve(gateway, async (_event, read) => {
    const { db } = open();
    const { seq, hash } = await read();
    return verifyAudit(db, seq && hash ? { seq, hash } : undefined);
  });
}

/** The newest rows, the last one first. */
export async function* newest(db: Database, rows: number): AsyncIterable<AuditRow> {
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
