import { GatewayError, type RouteEvent } from "propylon";
import { z } from "zod";
import type { Entry } from "./entry.ts";

const OUTCOMES = ["ok", "transport_error", "rpc_error", "tool_error", "failed"] as const;

const filterSchema = z.strictObject({
  server: z.string().optional(),
  tool: z.string().optional(),
  principal: z.string().optional(),
  /** `failed` is everything but `ok`. */
  outcome: z.enum(OUTCOMES).optional(),
  /** ISO 8601. */
  since: z.iso.datetime({ offset: true }).transform(Date.parse).optional(),
});

const pageSchema = filterSchema.extend({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.coerce.number().int().min(1).optional(),
});

/** Which calls somebody wants to see. */
export type Filter = z.output<typeof filterSchema>;

/** Which of them at once. */
export type Paging = z.output<typeof pageSchema>;

/** One page of calls, newest first. */
export interface Found {
  readonly entries: readonly Entry[];
  /** Where the next page begins; `undefined` when there is none. */
  readonly next: number | undefined;
}

/** @throws {GatewayError} `invalid` naming the parameter */
export function readFilter(event: RouteEvent): Filter {
  return read(event, filterSchema);
}

/** @throws {GatewayError} `invalid` naming the parameter */
export function readPaging(event: RouteEvent): Paging {
  return read(event, pageSchema);
}

/** An unknown parameter is refused: a filter that is silently ignored shows too much. */
function read<S extends typeof filterSchema | typeof pageSchema>(
  { url }: RouteEvent,
  schema: S,
): z.output<S> {
  const result = schema.safeParse(Object.fromEntries(url.searchParams));
  if (result.success) return result.data as z.output<S>;
  const [issue] = result.error.issues;
  const name = issue?.path.join(".") ?? "";
  throw new GatewayError("invalid", `${name === "" ? "The query" : name}: ${issue?.message}.`, {
    hint: `Parameters: ${Object.keys(schema.shape).join(", ")}; since is a time such as 2026-01-31T12:00:00Z.`,
  });
}

/** Whether a filter lets an entry through. */
export function isWanted(
  entry: Entry,
  { server, tool, principal, outcome, since }: Filter,
): boolean {
  return (
    (server === undefined || entry.server === server) &&
    (tool === undefined || entry.tool === tool) &&
    (principal === undefined || entry.principal === principal) &&
    (since === undefined || entry.at >= since) &&
    (outcome === undefined ||
      (outcome === "failed" ? entry.outcome !== "ok" : entry.outcome === outcome))
  );
}

/** One page of what a query asks for. */
export function findPage(all: readonly Entry[], query: Paging): Found {
  const { cursor = Infinity, limit } = query;
  const wanted = all
    .filter((entry) => entry.number < cursor && isWanted(entry, query))
    .toReversed();
  const entries = wanted.slice(0, limit);
  return { entries, next: wanted.length > limit ? entries.at(-1)!.number : undefined };
}
