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
export function toSessionRecord(session: Session): SessionRecord {
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

/** What a client asked for of its session. */
export type SessionWishes = Pick<SessionRecord, "logLevel" | "subscriptions">;

/** What a session's client asked for at two gateways since both knew the same: the last log level, and every change of subscriptions. */
export function mergeWishes(
  known: SessionWishes,
  own: SessionWishes,
  others: SessionWishes,
): SessionWishes {
  const [before, here] = [new Set(known.subscriptions), new Set(own.subscriptions)];
  const kept = others.subscriptions.filter((uri) => here.has(uri) || !before.has(uri));
  const added = own.subscriptions.filter((uri) => !before.has(uri));
  return {
    logLevel: own.logLevel === known.logLevel ? others.logLevel : own.logLevel,
    subscriptions: [...new Set([...kept, ...added])].slice(0, MAX_PER_SUBSCRIBER),
  };
}

/** Bits of the lists that a session's client was not told of, here or at the gateway that wrote the record last. */
export function changesLeft(session: Session, { lists, changed }: SessionRecord): number {
  const now = digestsOf(session.view!);
  const isSame = LISTS.every((list) => now[list] === lists[list]);
  return isSame ? session.changed & changed : session.changed;
}

/** Bits of the lists that differ from what a session's client was told. */
export function changesSince({ lists, changed }: SessionRecord, view: View): number {
  const now = digestsOf(view);
  return LISTS.filter((list) => now[list] !== lists[list]).reduce(
    (bits, list) => bits | CHANGED[list],
    changed,
  );
}
