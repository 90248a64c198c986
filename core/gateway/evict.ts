import type { EvictOptions, Evicted } from "../plugin/control.ts";
import { droppedBetween, type Credits } from "../http/auth/dropped-credentials.ts";
import { GatewayError } from "../errors.ts";
import type { Principal } from "../call/types.ts";
import type { Generation } from "./generation.ts";
import type { GatewayParts } from "./parts.ts";

/** Ends what matching principals have open; see `Gateway.evict`. */
export function evict(
  { generation, outgoing, leases }: GatewayParts,
  match: (principal: Principal) => boolean,
  reason: string,
  { inFlight = "cancel" }: EvictOptions = {},
): Evicted {
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
  parts.leases.withdraw(dropped);
  const ended = evict(parts, dropped, REASON);
  parts.log.info(ended, "credentials were taken away: what was open on them has ended");
}

const REASON = "The credential is no longer valid: the configuration has changed.";

function creditsOf({ config, compiled }: Generation): Credits {
  const brought = compiled.authenticators.flatMap(({ name, plugin }) =>
    plugin === undefined ? [] : [[name, plugin] as const],
  );
  return { auth: config.auth, plugins: new Map(brought) };
}
