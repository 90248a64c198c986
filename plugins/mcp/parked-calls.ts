import { randomBytes, createHmac, timingSafeEqual } from "node:crypto";
import type { Json } from "propylon";
import { FairQuota } from "propylon/kit";
import type { ClientRequest } from "./client-call.ts";
import type { Forward } from "./forward.ts";

/** One question of a held call to its client. */
export interface ParkedAsk {
  readonly method: string;
  readonly params: Json | undefined;
  readonly resolve: (response: Json) => void;
  readonly reject: (error: Error) => void;
}

/** Marks a request state as ours; those of modern servers pass through untouched. */
const PREFIX = "propylon-held.";
/** How long a client may take to answer. */
const TTL_MS = 60_000;
/** Held calls cost memory and a place at the server, and clients decide when they end. */
const MAX_HELD = 1_000;

interface Held {
  readonly state: string;
  readonly timer: NodeJS.Timeout;
}

/** A call that can be held. */
export interface Holdable {
  /** Ref of who makes it. */
  readonly principal: string;
  /** Its client did not come back. */
  gone(): void;
}

/** Calls that wait for their client's next request. */
export class ParkedCalls<C extends Holdable> {
  readonly #byState = new Map<string, C>();
  readonly #byCall = new Map<C, Held>();
  readonly #shares = new FairQuota();

  /** Holds a call and returns the handle for the retry. Over the limit, the longest held call of whoever has most is aborted. */
  hold(call: C): string {
    this.#forget(call);
    if (this.#byState.size >= MAX_HELD) this.#abandon(this.#surplus(call.principal));
    const state = PREFIX + randomBytes(24).toString("base64url");
    const timer = setTimeout(() => this.#abandon(call), TTL_MS).unref();
    this.#byState.set(state, call);
    this.#byCall.set(call, { state, timer });
    this.#shares.add(call.principal);
    return state;
  }

  /** Whether a call is being held. */
  has(call: C): boolean {
    return this.#byCall.has(call);
  }

  /** Whether a request state is a handle of ours, valid or not. */
  owns(state: unknown): state is string {
    return typeof state === "string" && state.startsWith(PREFIX);
  }

  /** Whether a call waits behind a handle. */
  isOpen(state: unknown): boolean {
    return typeof state === "string" && this.#byState.has(state);
  }

  /** The held call behind a handle. It works once: the next round trip gets a handle of its own. */
  take(state: string, accepts: (call: C) => boolean): C | undefined {
    const call = this.#byState.get(state);
    if (call === undefined || !accepts(call)) return undefined;
    this.#forget(call);
    return call;
  }

  /** Aborts all. */
  close(): void {
    for (const call of this.#byCall.keys()) this.#abandon(call);
  }

  #surplus(newcomer: string): C {
    const isLargest = this.#shares.largestWith(newcomer);
    return [...this.#byState.values()].find(({ principal }) => isLargest(principal))!;
  }

  #abandon(call: C): void {
    this.#forget(call);
    call.gone();
  }

  #forget(call: C): void {
    const held = this.#byCall.get(call);
    if (held === undefined) return;
    clearTimeout(held.timer);
    this.#byCall.delete(call);
    this.#byState.delete(held.state);
    this.#shares.remove(call.principal);
  }
}

/** Marks a server's state that we bound. */
const STATE_PREFIX = "propylon-state.";
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
  return STATE_PREFIX + macOf(state, owner).toString("base64url") + state;
}

/** The server's own state again; `undefined` for one that was not given to this principal for this request. */
export function unbindState(bound: string, owner: StateOwner): string | undefined {
  if (!bound.startsWith(STATE_PREFIX)) return undefined;
  const state = bound.slice(STATE_PREFIX.length + MAC_LENGTH);
  const mac = Buffer.from(
    bound.slice(STATE_PREFIX.length, STATE_PREFIX.length + MAC_LENGTH),
    "base64url",
  );
  const expected = macOf(state, owner);
  return mac.length === expected.length && timingSafeEqual(mac, expected) ? state : undefined;
}

function macOf(state: string, { principal, method, route }: StateOwner): Buffer {
  // As JSON, so that no two different lists are one text.
  const what = JSON.stringify([principal.ref, method, route.server.name, route.name, state]);
  return createHmac("sha256", KEY).update(what).digest();
}
