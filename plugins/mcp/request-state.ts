import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { ClientRequest } from "./client-call.ts";
import type { Forward } from "./forward.ts";

/** Marks a server's state that we bound. */
const PREFIX = "propylon-state.";
/** 256 bits in base64url. */
const MAC_LENGTH = 43;
/** Of this process: a state from before a restart is refused, and its client sends the request anew. */
const KEY = randomBytes(32);

/** For whom and for what a server gave its `requestState`. */
export interface StateOwner {
  readonly principal: ClientRequest["principal"];
  readonly method: string;
  readonly route: Forward["route"];
}

/**
 * A server's `requestState` as its client gets it. The server sees one client, the gateway, and takes a state from whoever brings
 * it; so it is bound to the principal it was given to, and to the request it continues (2026-07-28, security of `requestState`).
 */
export function bindState(state: string, owner: StateOwner): string {
  return PREFIX + macOf(state, owner).toString("base64url") + state;
}

/** The server's own state again; `undefined` for one that was not given to this principal for this request. */
export function unbindState(bound: string, owner: StateOwner): string | undefined {
  if (!bound.startsWith(PREFIX)) return undefined;
  const state = bound.slice(PREFIX.length + MAC_LENGTH);
  const mac = Buffer.from(bound.slice(PREFIX.length, PREFIX.length + MAC_LENGTH), "base64url");
  const expected = macOf(state, owner);
  return mac.length === expected.length && timingSafeEqual(mac, expected) ? state : undefined;
}

function macOf(state: string, { principal, method, route }: StateOwner): Buffer {
  // As JSON, so that no two different lists are one text.
  const what = JSON.stringify([principal.ref, method, route.server.name, route.name, state]);
  return createHmac("sha256", KEY).update(what).digest();
}
