import { boundedRecord } from "propylon/kit";
import { type ListName, LISTS, SEVERITIES } from "propylon/internal";
import { z } from "zod";
import { LEGACY_CLIENT_VERSIONS } from "../message/protocol.ts";
import { MAX_PER_SUBSCRIBER } from "../view/resource-watchers.ts";
import { CHANGED, MAX_CAPABILITIES, type Session } from "./session.ts";
import { digestsOf, type ListDigests, type View } from "../view/view.ts";

/** What is in the store of a session. */
export const sessionRecordSchema = z.object({
  /** Ref of the principal that opened it. */
  principal: z.string(),
  version: z.enum(LEGACY_CLIENT_VERSIONS),
  capabilities: boundedRecord(z.string(), z.unknown(), MAX_CAPABILITIES),
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
  /** The replica that tells its client what happens, where several have the session. */
  home: z.string().exactOptional(),
});

export type SessionRecord = z.infer<typeof sessionRecordSchema>;

/** A session as it is now. */
export function toSessionRecord(session: Session): SessionRecord {
  const { principal, version, capabilities, logLevel, subscriptions = [], told, home } = session;
  const lists = told ?? digestsOf(session.view!);
  return {
    principal,
    version,
    capabilities,
    logLevel,
    subscriptions: [...subscriptions],
    lists,
    changed: told ? 0 : session.changed,
    ...(home !== undefined && { home }),
  };
}

/** What a client asked for of its session. */
export type SessionWishes = Pick<SessionRecord, "logLevel" | "subscriptions" | "home">;

/**
 * What a session's client asked for at two replicas since both knew the same: the last log level, every change of subscriptions, and
 * where it opened its stream last.
 */
export function mergeWishes(
  known: SessionWishes,
  own: SessionWishes,
  others: SessionWishes,
): SessionWishes {
  const [before, here] = [new Set(known.subscriptions), new Set(own.subscriptions)];
  const kept = others.subscriptions.filter((uri) => here.has(uri) || !before.has(uri));
  const added = own.subscriptions.filter((uri) => !before.has(uri));
  const home = own.home === known.home ? others.home : own.home;
  return {
    ...(home !== undefined && { home }),
    logLevel: own.logLevel === known.logLevel ? others.logLevel : own.logLevel,
    subscriptions: [...new Set([...kept, ...added])].slice(0, MAX_PER_SUBSCRIBER),
  };
}

/** The lists that a session's client knows of; none where it was not told of the last change. */
export function toldLists({ lists, changed }: SessionRecord): ListDigests {
  const known = (list: ListName): string => ((changed & CHANGED[list]) === 0 ? lists[list] : "");
  return { tools: known("tools"), resources: known("resources"), prompts: known("prompts") };
}

/** Bits of the lists that differ from what a session's client was told. */
export function changesSince(told: ListDigests, view: View): number {
  const now = digestsOf(view);
  return LISTS.filter((list) => now[list] !== told[list]).reduce(
    (bits, list) => bits | CHANGED[list],
    0,
  );
}
