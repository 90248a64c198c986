import { randomBytes } from "node:crypto";
import { FairQuota } from "propylon/kit";

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

  /** Holds a call and returns the handle for the retry. Over the limit, the one with the most loses its longest held call. */
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
