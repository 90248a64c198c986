import { GatewayError, type GatewayInfo, type Principal } from "propylon";
import { checkInput } from "propylon/kit";
import { type DeclaredEventKind, PERSON_ROLES, type PersonRole } from "propylon/internal";
import { z } from "zod";
import { LEVELS, type Audience, type ChannelEvent, type EventLevel } from "./event.ts";
import { KINDS, PASSING, RESTRICTED, TAKEN } from "./kinds.ts";

/** What is there to be asked for, and who may see it. */
export interface Topics extends Pick<GatewayInfo, "refusal"> {
  readonly eventKinds: readonly DeclaredEventKind[];
}

const requestSchema = (names: readonly string[]) =>
  z.strictObject({
    type: z.literal("subscribe").optional(),
    kinds: z.array(z.enum(names)).max(1_000).min(1).optional(),
    also: z.array(z.enum(names)).max(1_000).min(1).optional(),
    level: z.enum(LEVELS).default("info"),
    lastEventId: z.string().max(100).optional(),
  });

/** What a stream shows, and from where. */
export interface Subscription {
  readonly audience: Audience;
  /** Ref of who reads. */
  readonly reader: string;
  readonly kinds: ReadonlySet<string>;
  /** Whether it also shows kinds of plugins that it does not name, such as those of a later reload. */
  readonly isOpen: boolean;
  /** What {@link reader} may see of the kinds of plugins, whatever they are called: a reload may give a name to another plugin. */
  readonly accesses: ReadonlySet<PersonRole>;
  /** Least severe log lines. */
  readonly level: EventLevel;
  /** The last event that its reader knows. */
  readonly lastEventId: string | undefined;
}

/**
 * What a URL asks for.
 *
 * @param header value of `Last-Event-ID`: a browser sends it when it connects again, so it beats the URL
 * @throws {GatewayError} `invalid` for an unknown kind or level, `forbidden` for a kind that takes another role
 */
export function subscriptionOf(
  { searchParams }: URL,
  principal: Principal,
  topics: Topics,
  header?: string | null,
): Subscription {
  const lastEventId = header ?? searchParams.get("lastEventId");
  return checkRequest(
    {
      ...listIn(searchParams, "kinds"),
      ...listIn(searchParams, "also"),
      level: searchParams.get("level") ?? undefined,
      ...(lastEventId !== null && { lastEventId }),
    },
    principal,
    topics,
  );
}

function listIn(query: URLSearchParams, name: "kinds" | "also"): Record<string, readonly string[]> {
  const text = query.get(name);
  return text === null ? {} : { [name]: text.split(",").map((kind) => kind.trim()) };
}

/**
 * What a WebSocket message asks for.
 *
 * @throws {GatewayError} like {@link subscriptionOf}; `bad_request` for invalid JSON
 */
export function subscriptionFrom(text: string, principal: Principal, topics: Topics): Subscription {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    throw new GatewayError("bad_request", "The message is not valid JSON.");
  }
  return checkRequest(request, principal, topics);
}

function checkRequest(request: unknown, principal: Principal, topics: Topics): Subscription {
  const known = accessByKind(topics);
  const { kinds, also, level, lastEventId } = checkInput(request, requestSchema([...known.keys()]));
  const accesses = new Set(
    PERSON_ROLES.filter((access) => !topics.refusal(principal, { access, mutates: false })),
  );
  const isVisible = (kind: string): boolean => accesses.has(known.get(kind)!);
  const asked = [...(kinds ?? []), ...(also ?? [])];
  const denied = asked.find((kind) => !isVisible(kind));
  if (denied !== undefined) throw notFor(denied, known.get(denied)!);
  const usual = kinds ? [] : [...known.keys()].filter((kind) => !PASSING.has(kind));
  return {
    audience: accesses.has("operator") ? "operator" : "viewer",
    reader: principal.ref,
    kinds: new Set([...asked, ...usual.filter(isVisible)]),
    isOpen: kinds === undefined,
    accesses,
    level,
    lastEventId: lastEventId === "" ? undefined : lastEventId,
  };
}

/** Every kind there is, with who may see it. */
function accessByKind({ eventKinds }: Topics): ReadonlyMap<string, PersonRole> {
  const own = KINDS.map((kind) => [kind, RESTRICTED.has(kind) ? "operator" : "viewer"] as const);
  const declared = eventKinds.filter(({ kind }) => !TAKEN.has(kind));
  return new Map<string, PersonRole>([
    ...own,
    ...declared.map(({ kind, access }) => [kind, access] as const),
  ]);
}

function notFor(kind: string, access: PersonRole): GatewayError {
  const message =
    access === "operator"
      ? `Events of kind "${kind}" are for operators.`
      : `Events of kind "${kind}" take the role ${access}.`;
  const roles = access === "operator" ? "operator or admin" : access;
  return new GatewayError("forbidden", message, {
    hint: `Use a key with the role ${roles}, or leave the kind out.`,
  });
}

/** Whether a subscription shows an event. */
export function shows(subscription: Subscription, event: ChannelEvent): boolean {
  const { audience, kinds, isOpen, accesses, level, reader } = subscription;
  const { kind, access } = event;
  if (!kinds.has(kind) && (access === undefined || !isOpen)) return false;
  if (access !== undefined && !accesses.has(access)) return false;
  if (event.owner !== undefined && audience !== "operator" && event.owner !== reader) return false;
  return event.level === undefined || LEVELS.indexOf(event.level) >= LEVELS.indexOf(level);
}

/** Severity of a log line, by name or by the number that pino writes by default; one of somebody's own counts as `info`. */
export function levelOf(severity: unknown): EventLevel {
  return (
    LEVELS.find((level, index) => level === severity || severity === (index + 1) * 10) ?? "info"
  );
}
