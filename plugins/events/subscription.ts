import { GatewayError, type Principal } from "propylon";
import { checkInput } from "propylon/kit";
import { z } from "zod";
import { LEVELS, type Audience, type ChannelEvent, type EventLevel } from "./event.ts";
import { KINDS, PASSING, RESTRICTED, type Kind, type TopicKind } from "./kinds.ts";

const requestSchema = z.strictObject({
  type: z.literal("subscribe").optional(),
  kinds: z.array(z.enum(KINDS)).min(1).optional(),
  level: z.enum(LEVELS).default("info"),
  lastEventId: z.string().max(100).optional(),
});

/** What a stream shows, and from where. */
export interface Subscription {
  readonly audience: Audience;
  /** Ref of who reads. */
  readonly reader: string;
  readonly kinds: ReadonlySet<TopicKind>;
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
  header?: string | null,
): Subscription {
  const kinds = searchParams.get("kinds");
  const lastEventId = header ?? searchParams.get("lastEventId");
  return checkRequest(
    {
      ...(kinds !== null && { kinds: kinds.split(",").map((kind) => kind.trim()) }),
      level: searchParams.get("level") ?? undefined,
      ...(lastEventId !== null && { lastEventId }),
    },
    principal,
  );
}

/**
 * What a WebSocket message asks for.
 *
 * @throws {GatewayError} like {@link subscriptionOf}; `bad_request` for what is no JSON
 */
export function subscriptionFrom(text: string, principal: Principal): Subscription {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch {
    throw new GatewayError("bad_request", "The message is not valid JSON.");
  }
  return checkRequest(request, principal);
}

function checkRequest(request: unknown, { ref, roles }: Principal): Subscription {
  const { kinds, level, lastEventId } = checkInput(request, requestSchema);
  const isOperator = roles.has("operator") || roles.has("admin");
  const denied = kinds?.find((kind) => RESTRICTED.has(kind) && !isOperator);
  if (denied !== undefined)
    throw new GatewayError("forbidden", `Events of kind "${denied}" are for operators.`, {
      hint: "Use a key with the role operator or admin, or leave the kind out.",
    });
  const shown = kinds ?? KINDS.filter((kind) => !PASSING.has(kind));
  return {
    audience: isOperator ? "operator" : "viewer",
    reader: ref,
    kinds: new Set(shown.filter((kind) => isOperator || !RESTRICTED.has(kind))),
    level,
    lastEventId: lastEventId === "" ? undefined : lastEventId,
  };
}

/** Whether a subscription shows an event. */
export function shows(subscription: Subscription, event: ChannelEvent): boolean {
  const { audience, kinds, level, reader } = subscription;
  if (!(kinds as ReadonlySet<Kind>).has(event.kind)) return false;
  if (event.owner !== undefined && audience !== "operator" && event.owner !== reader) return false;
  return event.level === undefined || LEVELS.indexOf(event.level) >= LEVELS.indexOf(level);
}

/** Severity of a log line, by name or by the number that pino writes by default; one of somebody's own counts as `info`. */
export function levelOf(severity: unknown): EventLevel {
  return (
    LEVELS.find((level, index) => level === severity || severity === (index + 1) * 10) ?? "info"
  );
}
