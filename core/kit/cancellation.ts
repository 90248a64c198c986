import { GatewayError, isGatewayError } from "./errors.ts";
import type { CallHead, Principal } from "./types.ts";

/**
 * The part of an `AbortSignal` that the core's own stages and upstreams use.
 *
 * @example const watched: Abortable = abortableOf(call);
 */
export interface Abortable {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: AbortListener, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: AbortListener): void;
}

/** A listener as `addEventListener` takes it. */
export type AbortListener = ((event: Event) => void) | { handleEvent(event: Event): void };

/**
 * What can end a call early: a light stand-in for an `AbortController`, which costs 3 us on Node 20, a tenth of a relayed
 * call. A real signal is made only when somebody asks for it, i.e. reads or copies `call.signal`.
 *
 * @example
 * const cancellation = new Cancellation();
 * const answer = gateway.call({ server, name, args, cancellation });
 * cancellation.abort(new GatewayError("cancelled", "The task was cancelled."));
 */
export class Cancellation implements Abortable {
  /** Place among the calls in flight. */
  slot = -1;
  /** The call that it ends, once that is in flight. */
  call: CallHead | undefined = undefined;
  /** Since when it is, as `performance.now()`; 0 where nobody looked at the clock. */
  started = 0;
  #aborted = false;
  #reason: unknown;
  #listeners: AbortListener[] | undefined;
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Whose call it is. */
  get principal(): Principal | undefined {
    return this.call?.principal;
  }

  /** Whether nobody holds the real signal, so that nobody can have put another in its place. */
  get isPristine(): boolean {
    return this.#controller === undefined;
  }

  /** The real signal. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Ends the call, once. */
  abort(reason?: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    this.#controller?.abort(reason);
    const event = new Event("abort");
    for (const listener of listeners ?? []) {
      if (typeof listener === "function") listener(event);
      else listener.handleEvent(event);
    }
  }

  /** Like that of an `AbortSignal`; always `once`. */
  addEventListener(_type: "abort", listener: AbortListener): void {
    (this.#listeners ??= []).push(listener);
  }

  removeEventListener(_type: "abort", listener: AbortListener): void {
    const at = this.#listeners?.indexOf(listener) ?? -1;
    if (at >= 0) this.#listeners!.splice(at, 1);
  }
}

const SIGNAL: PropertyDescriptor & ThisType<{ readonly cancellation: Cancellation }> = {
  get() {
    return this.cancellation.signal;
  },
  enumerable: true,
  configurable: true,
};

/**
 * Gives a call its `signal`, made when first read; a copy of the call gets the real one. One getter serves all calls: an
 * object literal with a getter costs six times as much, because each such object gets a shape of its own.
 *
 * @example const call = addSignal({ ...members, cancellation: new Cancellation() });
 */
export function addSignal<T extends { readonly cancellation: Cancellation }>(
  call: T,
): T & { readonly signal: AbortSignal } {
  return Object.defineProperty(call, "signal", SIGNAL) as T & { readonly signal: AbortSignal };
}

/**
 * What to watch for the end of a call: the light one as long as nobody looked at the real signal.
 *
 * @example abortableOf(call).addEventListener("abort", () => request.destroy(), { once: true });
 */
export function abortableOf(call: {
  readonly signal: AbortSignal;
  readonly cancellation?: Cancellation | undefined;
}): Abortable {
  return call.cancellation?.isPristine ? call.cancellation : call.signal;
}

/** The cancellation that a call's signal belongs to; `undefined` when its caller brought a signal of its own. */
export function ownCancellation(call: {
  readonly signal: AbortSignal;
  readonly cancellation?: Cancellation | undefined;
}): Cancellation | undefined {
  const { cancellation } = call;
  return cancellation && (cancellation.isPristine || cancellation.signal === call.signal)
    ? cancellation
    : undefined;
}

/**
 * Why a call was aborted, as the error its caller gets: `timeout` when a deadline passed, else `cancelled`.
 *
 * @example if (signal.aborted) throw abortError(signal);
 */
export function abortError({ reason }: Pick<Abortable, "reason">): GatewayError {
  if (isGatewayError(reason)) return reason;
  return new GatewayError("cancelled", "The call was cancelled.", { cause: reason });
}

/**
 * Something that can be in one {@link InFlightSet} at a time.
 *
 * @example
 * class Job implements Slotted {
 *   slot = -1;
 * }
 */
export interface Slotted {
  /** Its place; -1 = in no set. Belongs to the set. */
  slot: number;
}

/**
 * A set of things that come and go with every call. Not a `Set`: V8 chains each outgrown table of a Set to the next one, so a
 * table that got old keeps all later ones alive, with every call that was in them, until a full collection. With 64 calls in
 * flight that made garbage collection a third of a call.
 *
 * @example
 * const running = new InFlightSet<{ slot: number; abort(): void }>();
 * running.add(work);
 */
export class InFlightSet<T extends Slotted> {
  /** Never shrinks: a store that V8 replaces would keep its members alive too. */
  readonly #slots: (T | undefined)[] = [];
  #size = 0;

  /** How many are in it. */
  get size(): number {
    return this.#size;
  }

  /** Puts something in that is not in any other. */
  add(member: T): void {
    if (member.slot >= 0) return;
    member.slot = this.#size;
    this.#slots[this.#size++] = member;
  }

  /** Takes something out; tells whether it was there. */
  delete(member: T): boolean {
    const { slot } = member;
    if (slot < 0 || this.#slots[slot] !== member) return false;
    const last = this.#slots[--this.#size]!;
    this.#slots[slot] = last;
    last.slot = slot;
    this.#slots[this.#size] = undefined;
    member.slot = -1;
    return true;
  }

  /** Takes out everything. */
  clear(): void {
    for (const member of this) this.delete(member);
  }

  /** Those that are in it at this moment, in no order; members may come and go meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return (this.#slots.slice(0, this.#size) as T[])[Symbol.iterator]();
  }
}
