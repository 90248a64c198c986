import { LISTS, SEVERITIES } from "propylon/kit";
import { z } from "zod";
import { LEGACY_CLIENT_VERSIONS } from "./protocol.ts";
import { MAX_PER_SUBSCRIBER } from "./resource-watchers.ts";
import { CHANGED, type Session } from "./session.ts";
import { digestsOf, type View } from "./view.ts";

/** What is in the store of a session. */
export const sessionRecordSchema = z.object({
  /** Ref of the principal that opened it. */
  principal: z.string(),
  version: z.enum(LEGACY_CLIENT_VERSIONS),
  capabilities: z.record(z.string(), z.unknown()),
  /** Index of SEVERITIES, or -1. */
  logLevel: z
    .int()
    .min(-1)
    .max(SEVERITIES.length - 1),
  /** URIs of resources. */
  subscriptions: z.array(z.string()).max(MAX_PER_SUBSCRIBER),
  /** Of the lists that were shown to its client last. */
  lists: z.object({ tools: z.string(), resources: z.string(), prompts: z.string() }),
  /** Those of them that its client had not been told of, as bits. */
  changed: z.int().min(0).max(7),
});

export type SessionRecord = z.infer<typeof sessionRecordSchema>;

/** A session as it is now. */
export function toRecord(session: Session): SessionRecord {
  const { principal, version, capabilities, logLevel, subscriptions = [], changed } = session;
  const lists = digestsOf(session.view!);
  return {
    principal,
    version,
    capabilities,
    logLevel,
    subscriptions: [...subscriptions],
    lists,
    changed,
  };
}

/** Bits of the lists that differ from what a session's client was told. */
export function changesSince({ lists, changed }: SessionRecord, view: View): number {
  const now = digestsOf(view);
  return LISTS.filter((list) => now[list] !== lists[list]).reduce(
    (bits, list) => bits | CHANGED[list],
    changed,
  );
}
