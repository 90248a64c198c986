import { GatewayError } from "../kit/errors.ts";
import type { Principal } from "../kit/types.ts";
import type { Evicted, EvictOptions } from "../plugin/management-service.ts";
import type { Leases } from "../plugin/leases.ts";
import type { HookEmitter } from "./emitter.ts";
import type { Generation } from "./generation.ts";

/** Where somebody has something open. */
export interface Evicting {
  readonly current: Generation;
  readonly generations: readonly Generation[];
  readonly leases: Leases;
  readonly hooks: HookEmitter;
}

/** Ends what matching principals have open; see `Gateway.evict`. */
export function evict(
  { current, generations, leases, hooks }: Evicting,
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
    for (const each of generations) calls += each.abortThose(matches, error);
  const streams = leases.evict(match, reason);
  const sessions = current.compiled.endpointServer.revoke(match);
  hooks.emit("principal:evict", match);
  return { sessions, streams, calls };
}
