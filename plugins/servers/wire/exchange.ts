import type { Answer, Call, GatewayError } from "propylon";
import { type Abortable, abortError, InFlightSet, type Slotted } from "propylon/internal";
import type { RequestControl } from "../pool/http-pool.ts";
import { findId, findLastId, isNotice } from "./message.ts";

/** The holder of an {@link Exchange} while it runs. */
export interface ExchangeOwner {
  /** It has its outcome; forget it. */
  settled(exchange: Exchange): void;
  /** Nobody wants the outcome any more; tell the server. Called before {@link settled}. */
  cancelled(exchange: Exchange): void;
}

/** A response that somebody reads. */
export interface Stoppable {
  /** Reads no further. */
  abort(): void;
}

/** The parts of an {@link Exchange}. */
export interface ExchangeParts {
  readonly id: string;
  /** See {@link Awaited.token}. */
  readonly token?: string | undefined;
  readonly method: string;
  /** The serialised request. */
  readonly message: string;
  /** Value of `Mcp-Name`, for the methods that have it. */
  readonly name?: string | undefined;
  /** `Mcp-Param-*` headers, name and value in turn. */
  readonly mirrored?: readonly string[] | undefined;
  /** The call it carries; absent for the gateway's own requests. */
  readonly call?: Call | undefined;
  /** See {@link Exchange.takesTask}. */
  readonly takesTask?: boolean;
  readonly signal: Abortable | undefined;
  readonly owner: ExchangeOwner;
}

/** One request to a server, from sending to its outcome. Settles exactly once. */
export class Exchange implements Awaited {
  slot = -1;
  below: Awaited | undefined = undefined;
  /** What reads its answer, where that has a stream of its own. */
  stream: Stoppable | undefined = undefined;
  readonly id: string;
  readonly token: string | undefined;
  readonly method: string;
  readonly message: string;
  readonly name: string | undefined;
  readonly mirrored: readonly string[] | undefined;
  readonly call: Call | undefined;
  /** The outcome. */
  readonly answer: Promise<Answer>;
  /** Whether its answer may be a task. */
  readonly takesTask: boolean;
  /** Whether it was sent a second time; there is no third. */
  resent = false;
  /** How often it was sent to another place of its server. */
  redirects = 0;
  /** How often it was sent with other credentials. */
  renewals = 0;
  /** Whether the outcome is known. */
  done = false;
  /** Whether that is the server's answer. The server may still be at work on anything else. */
  answered = false;
  /** Whether its answer has come, and its holder will settle it. */
  isHeld = false;
  owner: ExchangeOwner;
  /** Called when the server acknowledged a subscription stream. */
  acknowledged: (() => void) | undefined;
  /** Called at the end of a request of the gateway's own, before anything behind its answer is read. */
  ended: (() => void) | undefined;
  readonly #signal: Abortable | undefined;
  #resolve!: (answer: Answer) => void;
  #reject!: (error: GatewayError) => void;

  constructor(parts: ExchangeParts) {
    this.id = parts.id;
    this.token = parts.token;
    this.method = parts.method;
    this.message = parts.message;
    this.name = parts.name;
    this.mirrored = parts.mirrored;
    this.call = parts.call;
    this.takesTask = parts.takesTask ?? false;
    this.owner = parts.owner;
    this.#signal = parts.signal;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#signal?.addEventListener("abort", this, { once: true });
  }

  /** Whether nothing more is to be read for it. */
  get isOver(): boolean {
    return this.done || this.isHeld;
  }

  /** Ends it with the server's answer. */
  settle(answer: Answer): void {
    if (this.done) return;
    this.answered = true;
    if (this.#finish()) this.#resolve(answer);
  }

  /** Ends it without an answer. */
  fail(error: GatewayError): void {
    if (this.#finish()) this.#reject(error);
  }

  /** Called by the signal of the call. */
  handleEvent(): void {
    if (this.done) return;
    this.owner.cancelled(this);
    this.fail(abortError(this.#signal!));
  }

  #finish(): boolean {
    if (this.done) return false;
    this.done = true;
    // A signal may outlive its calls by far; one left-over listener per call would be a leak.
    this.#signal?.removeEventListener("abort", this);
    this.owner.settled(this);
    return true;
  }
}

/**
 * Stops reading while the client of the call behind it cannot take more. The stream belongs to this call alone, so nobody else
 * waits while its client catches up.
 */
export function holdBack({ done, call }: Exchange, control: RequestControl): void {
  const peer = call?.peer;
  if (done || peer?.congested !== true || peer.whenClear === undefined) return;
  control.pause();
  peer.whenClear(() => control.resume());
}

/** Something found by the id it was sent with. */
export interface Awaited extends Slotted {
  readonly id: string;
  /** What its progress is reported with, where it asks for that. */
  readonly token?: string | undefined;
  /** The next one in the same bucket. Belongs to {@link Pending}. */
  below: Awaited | undefined;
}

/**
 * Buckets, powers of two: at first, which is enough for a probe, and from the first crowd on. With more requests in flight than that
 * a look-up takes a few steps more.
 */
const BUCKETS = { few: 16, many: 1_024 };

/** The requests in flight to one server, by id. Not a `Map`, for the reason that {@link InFlightSet} gives. */
export class Pending<T extends Awaited> {
  readonly #all = new InFlightSet<T>();
  #buckets: (T | undefined)[] = Array.from({ length: BUCKETS.few });
  readonly #tokens = new Map<string, T>();

  /** The one with this id. */
  get(id: string): T | undefined {
    let found = this.#buckets[bucketOf(id, this.#buckets.length)];
    while (found && found.id !== id) found = found.below as T | undefined;
    return found;
  }

  /** The one whose progress is reported with this token. */
  byToken(token: string): T | undefined {
    return this.#tokens.get(token);
  }

  /** Adds a request; its id is new. */
  add(request: T): void {
    if (this.#all.size === BUCKETS.few && this.#buckets.length === BUCKETS.few) this.#grow();
    this.#put(request);
    this.#all.add(request);
    if (request.token !== undefined) this.#tokens.set(request.token, request);
  }

  /** Forgets a request; tells whether it was there. */
  delete(request: T): boolean {
    if (!this.#all.delete(request)) return false;
    if (request.token !== undefined) this.#tokens.delete(request.token);
    const bucket = bucketOf(request.id, this.#buckets.length);
    const first = this.#buckets[bucket]!;
    if (first === request) this.#buckets[bucket] = request.below as T | undefined;
    else neighbourAbove(first, request).below = request.below;
    request.below = undefined;
    return true;
  }

  /** All of them at this moment, in no order. */
  values(): Iterable<T> {
    return this.#all;
  }

  #put(request: T): void {
    const bucket = bucketOf(request.id, this.#buckets.length);
    request.below = this.#buckets[bucket];
    this.#buckets[bucket] = request;
  }

  #grow(): void {
    // V8 would keep alive what the store holds that it replaces.
    this.#buckets.fill(undefined);
    this.#buckets = Array.from({ length: BUCKETS.many });
    for (const request of this.#all) this.#put(request);
  }
}

function neighbourAbove(first: Awaited, request: Awaited): Awaited {
  let above = first;
  while (above.below && above.below !== request) above = above.below;
  return above;
}

/** Ids end in a counter in base 36: its last digits spread evenly. */
function bucketOf(id: string, buckets: number): number {
  const { length } = id;
  const low = id.charCodeAt(length - 1) + id.charCodeAt(length - 2) * 36;
  return (low + id.charCodeAt(length - 3) * 1_296) & (buckets - 1);
}

interface Owed {
  readonly candidates: Set<Exchange>;
  readonly error: GatewayError;
}

/**
 * Finds the request whose answer was too large to keep, by the id at the start of the message or, as most servers write it, at
 * its end. Where neither shows one, the answer is owed to one of the requests in flight: to the last one that gets none. Its
 * caller waits a little longer, but no other call dies of it.
 */
export class Oversize {
  readonly #pending: Pending<Exchange>;
  readonly #owed = new Set<Owed>();

  constructor(pending: Pending<Exchange>) {
    this.#pending = pending;
  }

  /** Takes the first and last bytes of a message above the limit. */
  note(head: Buffer, tail: Buffer, error: GatewayError): void {
    if (isNotice(head)) return;
    const id = findId(head) ?? findLastId(tail);
    if (id !== undefined) return this.#pending.get(id)?.fail(error);
    const owed: Owed = { candidates: new Set(this.#pending.values()), error };
    this.#owed.add(owed);
    this.#check(owed);
  }

  /** A request has its outcome. */
  release(exchange: Exchange): void {
    if (this.#owed.size === 0) return;
    for (const owed of this.#owed) if (owed.candidates.delete(exchange)) this.#check(owed);
  }

  #check(owed: Owed): void {
    if (owed.candidates.size > 1) return;
    this.#owed.delete(owed);
    for (const exchange of owed.candidates) exchange.fail(owed.error);
  }
}
