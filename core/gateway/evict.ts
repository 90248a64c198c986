import type { Evicted, EvictOptions } from "../plugin/control.ts";
import { GatewayError } from "../errors.ts";
import type { Principal } from "../call/types.ts";
import type { Generation } from "./generation.ts";
import type { GatewayParts } from "./parts.ts";
import { isDeepStrictEqual } from "node:util";
import type { GatewayConfig } from "../config/schema.ts";
import { hasCredentials, KEYS, MASTER } from "../http/auth/authenticator.ts";
import { JWT } from "../http/auth/jwt.ts";
import { originOf } from "../http/auth/principal.ts";

/** Ends what matching principals have open; see `Gateway.evict`. */
export function evict(
  { generation, outgoing, leases }: GatewayParts,
  match: (principal: Principal) => boolean,
  reason: string,
  { inFlight = "cancel", withdraw = false }: EvictOptions = {},
): Evicted {
  if (withdraw) leases.withdraw(match);
  const error = new GatewayError("unauthorized", reason);
  const matches = (principal: Principal | undefined): boolean =>
    principal !== undefined && match(principal);
  let calls = 0;
  // A call that came before a reload is in flight like any other.
  if (inFlight === "cancel")
    for (const each of [generation, ...outgoing.keys()]) calls += each.abortThose(matches, error);
  const streams = leases.evict(match, reason);
  return { sessions: generation.compiled.endpointServer.revoke(match), streams, calls };
}

/** Ends what is open on credentials that a new config took away. */
export function evictDropped(parts: GatewayParts, old: Generation): void {
  if (old.number === 0) return;
  const dropped = droppedBetween(creditsOf(old), creditsOf(parts.generation));
  if (!dropped) return;
  const ended = evict(parts, dropped, REASON, { withdraw: true });
  parts.log.info(ended, "credentials were removed: their sessions, streams and calls have ended");
}

const REASON = "The credential is no longer valid: the configuration has changed.";

function creditsOf({ config, compiled }: Generation): Credits {
  const brought = compiled.authenticators.flatMap(({ name, plugin }) =>
    plugin === undefined ? [] : [[name, plugin] as const],
  );
  return { auth: config.auth, plugins: new Map(brought) };
}

/** What of a generation decides whose credentials count. */
interface Credits {
  readonly auth: GatewayConfig["auth"];
  /** Authenticators of plugins by name, with their plugin. */
  readonly plugins: ReadonlyMap<string, string>;
}

/**
 * Whose credentials a new config takes away, or gives other rights: a key whose name is gone or whose hash or role changed, the
 * tokens of a check that is another, the people of an authenticator that left, and everyone without credentials where these are
 * needed now.
 *
 * @returns `undefined` when it is nobody's
 */
function droppedBetween(
  before: Credits,
  after: Credits,
): ((principal: Principal) => boolean) | undefined {
  const keys = new Set(lostKeys(before.auth, after.auth));
  const tokens = before.auth.jwt !== undefined && differs(before.auth.jwt, after.auth.jwt);
  const left = new Set(lostAuthenticators(before, after));
  const anonymous =
    (isOpen(before) && !isOpen(after)) || (!before.auth.strict && after.auth.strict);
  if (keys.size === 0 && !tokens && left.size === 0 && !anonymous) return undefined;
  return (principal) => {
    if (principal.kind === "anonymous") return anonymous;
    const origin = originOf(principal);
    if (origin === KEYS) return keys.has(principal.ref);
    if (origin === JWT) return tokens;
    return origin !== undefined && left.has(origin);
  };
}

/** Another plugin's of the same name is another. */
function lostAuthenticators(before: Credits, after: Credits): readonly string[] {
  return [...before.plugins]
    .filter(([name, plugin]) => after.plugins.get(name) !== plugin)
    .map(([name]) => name);
}

function lostKeys(before: GatewayConfig["auth"], after: GatewayConfig["auth"]): readonly string[] {
  const named = Object.keys(before.keys).filter((name) =>
    differs(before.keys[name], after.keys[name]),
  );
  const isMasterLost = before.apiKey !== undefined && before.apiKey !== after.apiKey;
  return [...named, ...(isMasterLost ? [MASTER] : [])].map((name) => `key:${name}`);
}

function isOpen({ auth, plugins }: Credits): boolean {
  return plugins.size === 0 && !hasCredentials(auth);
}

function differs(before: unknown, after: unknown): boolean {
  return !isDeepStrictEqual(before, after);
}
