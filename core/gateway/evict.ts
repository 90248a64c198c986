import type { Evicted, EvictOptions } from "../plugin/control.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Principal } from "../kit/types.ts";
import type { GatewayParts } from "./parts.ts";

/** Ends what matching principals have open; see `Gateway.evict`. */
export function evict(
  { generation, outgoing, leases, hooks }: GatewayParts,
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
  const sessions = generation.compiled.endpointServer.revoke(match);
  hooks.emit("principal:evict", match);
  return { sessions, streams, calls };
}

/** Ends what is open on credentials that a new config took away. */
export function evictDropped(
  parts: GatewayParts,
  dropped: (principal: Principal) => boolean,
): void {
  const reason = "The credential is no longer valid: the configuration has changed.";
  const ended = evict(parts, dropped, reason, { withdraw: true });
  parts.log.info(ended, "credentials were removed: their sessions, streams and calls have ended");
}
