import { CALL_OUTCOMES, type CallEnd, isFailure } from "propylon/kit";
import { z } from "zod";
import { Entry } from "./entry.ts";
import { beginningOf, EARLIER_OUTCOMES, wasOnce } from "./head.ts";
import type { Ring } from "./ring.ts";

/** Pages of what several replicas share begin behind a call: numbers are each replica's own. */
const AFTER = /^after:[\x21-\x7e]{1,200}$/;

/** Parameters that choose calls. An unknown one is refused: a filter that is silently ignored shows too much. */
export const filterSchema = z.strictObject({
  server: z.string().optional(),
  tool: z.string().optional(),
  principal: z.string().optional(),
  /** `failed` is everything but `ok` and `cancelled`. The names of earlier versions find what they found. */
  outcome: z.enum([...CALL_OUTCOMES, "failed", ...EARLIER_OUTCOMES]).optional(),
  /** ISO 8601. */
  since: z.iso.datetime({ offset: true }).transform(Date.parse).optional(),
});

/** The same, and how many at once. */
export const pageSchema = filterSchema.extend({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  /** A number, or where several replicas share a store the id of the last call of the page before. */
  cursor: z.union([z.coerce.number().int().min(1), z.string().regex(AFTER)]).optional(),
  /** Without arguments and results, for lists that are asked for often. */
  brief: z.enum(["0", "1"]).default("0"),
});

/** Which calls somebody wants to see. */
export type Filter = z.output<typeof filterSchema>;

/** Whether the caller may know of a call. */
export type MayKnow = (entry: Entry) => boolean;

/** Which of them at once. */
export type Paging = z.output<typeof pageSchema>;

/** One page of calls, newest first. */
export interface Found {
  readonly entries: readonly Entry[];
  /** The last of them, when there are more. */
  readonly last: Entry | undefined;
}

/** Whether a filter lets an entry through. */
export function isWanted(
  { head }: Entry,
  { server, tool, principal, outcome, since }: Filter,
): boolean {
  return (
    (server === undefined || head.server === server) &&
    (tool === undefined || head.tool === tool) &&
    (principal === undefined || head.principal === principal) &&
    (since === undefined || head.at >= since) &&
    (outcome === undefined || hasEnded(head, outcome))
  );
}

function hasEnded(end: CallEnd, outcome: NonNullable<Filter["outcome"]>): boolean {
  if (outcome === "failed") return isFailure(end.outcome);
  if (outcome === "transport_error" || outcome === "rpc_error") return wasOnce(end, outcome);
  return end.outcome === outcome;
}

/** One page of what a query asks for. Reads no more than it takes to fill it. */
export function findPage(ring: Ring, query: Paging, mayKnow: MayKnow): Found {
  const { limit } = query;
  const entries: Entry[] = [];
  for (
    let number = Math.min(startOf(ring, query), ring.next) - 1;
    number >= ring.oldest;
    number--
  ) {
    const entry = new Entry(number, ring.read(number)!);
    if (!isWanted(entry, query) || !mayKnow(entry)) continue;
    if (entries.length === limit) return { entries, last: entries.at(-1)! };
    entries.push(entry);
  }
  return { entries, last: undefined };
}

/** Behind a call that made room meanwhile there is nothing any more. */
function startOf(ring: Ring, { cursor = Number.POSITIVE_INFINITY }: Paging): number {
  if (typeof cursor === "number") return cursor;
  return findEntry(ring, cursor.slice("after:".length))?.number ?? 0;
}

/** Names the next page. */
export function cursorOf({ last }: Found, isShared: boolean): string | null {
  if (!last) return null;
  return isShared ? `after:${last.head.id}` : String(last.number);
}

/** The call with an id. */
export function findEntry(ring: Ring, id: string): Entry | undefined {
  const beginning = beginningOf(id);
  for (let number = ring.next - 1; number >= ring.oldest; number--) {
    const record = ring.read(number)!;
    if (beginning.equals(record.subarray(0, beginning.length))) return new Entry(number, record);
  }
  return undefined;
}
