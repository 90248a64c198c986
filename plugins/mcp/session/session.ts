import type { Resumable } from "../message/journal.ts";
import { hash, randomUUID } from "node:crypto";
import type { Json, Principal } from "propylon";
import { FairQuota, setTicker } from "propylon/kit";
import { LISTS, type RpcId } from "propylon/internal";
import { isSameId } from "../message/client-message.ts";
import type { ListDigests, View } from "../view/view.ts";
import type { SessionStream } from "./session-stream.ts";
import type { EventStream } from "../message/stream.ts";

/** A request of ours that a client has not answered yet. */
export interface PendingAsk {
  readonly resolve: (result: Json) => void;
  readonly reject: (error: Error) => void;
}

/** A running call, as its session sees it. */
export interface Cancellable {
  /** The client's id of the request. */
  readonly id: RpcId;
  /** The call of the same session that began before it. */
  earlier: Cancellable | undefined;
  /** The one that began after it. */
  later: Cancellable | undefined;
  /** @param reason answers the call, which is left without an answer otherwise */
  cancel(reason?: string): void;
}

/** Why a session ended. */
export type SessionEnd = "deleted" | "idle" | "evicted" | "revoked" | "shutdown";

/** List changes a session was not told of yet, as bits. */
export const CHANGED = { tools: 1, resources: 2, prompts: 4 } as const;

/** Client capabilities above this many characters of JSON are refused: a session is a small record. */
export const MAX_CAPABILITIES = 4_096;
/** Distinct capability sets that are remembered to be shared. */
const MAX_SHAPES = 256;

/**
 * One legacy client. Kept small on purpose, since there may be ten thousand: what an idle client does not need is absent
 * until it is used, and gone when it is empty again.
 */
export class Session {
  readonly id: string;
  /** When it was read from the store, in milliseconds since 1970; 0 for one that was opened here. */
  restoredAt = 0;
  /** Ref of the principal that opened it; nobody else can use it. */
  readonly principal: string;
  readonly version: string;
  readonly capabilities: Json;
  /** Least severe level wanted, as index of SEVERITIES; -1 until the client says. */
  logLevel = -1;
  /** Bits of {@link CHANGED}. */
  changed = 0;
  usedAt = Date.now();
  #lastCall: Cancellable | undefined = undefined;
  asks: Map<string, PendingAsk> | undefined = undefined;
  /** What belongs to no call is sent there. */
  stream: EventStream | SessionStream | undefined = undefined;
  /** Resources that were updated lately, and when that was told, by `performance.now()`; `Infinity`: there was no stream for it. */
  updates: Map<string, number> | undefined = undefined;
  /** Lists whose change was told on its stream, as in {@link changed}, and when the last was, by `performance.now()`. */
  toldLists = 0;
  toldListsAt = 0;
  /** Connections that a newer one took the place of, and that may be gone. */
  left: Set<EventStream> | undefined = undefined;
  /** The replica that sends it, where several have the session. */
  home: string | undefined = undefined;
  /** The lists that its client knows of from another replica. */
  told: ListDigests | undefined = undefined;
  /** Who opened it, with what the credential of that time said. */
  owner: Principal | undefined = undefined;
  /** Who used it last: the same principal, with what the credential says by now. */
  viewer: Principal | undefined = undefined;
  /** What its client knows of. */
  view: View | undefined = undefined;
  subscriptions: Set<string> | undefined = undefined;
  /** Of {@link Journals}. */
  resumable: Resumable | undefined = undefined;
  older: Session | undefined = undefined;
  newer: Session | undefined = undefined;
  #key: string | undefined = undefined;

  constructor(principal: string, version: string, capabilities: Json, id: string = randomUUID()) {
    this.id = id;
    this.principal = principal;
    this.version = version;
    this.capabilities = capabilities;
  }

  /** Names the session without giving it away. */
  get key(): string {
    return (this.#key ??= sessionKey(this.id));
  }

  /** Tells the client which lists changed, now or as soon as it has a stream; tells whether it did. */
  tellChanges(): boolean {
    if (this.changed === 0 || !this.stream?.open) return false;
    for (const list of LISTS) {
      if ((this.changed & CHANGED[list]) === 0) continue;
      this.stream.send(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`);
    }
    this.toldLists |= this.changed;
    this.toldListsAt = performance.now();
    this.changed = 0;
    this.told = undefined;
    return true;
  }

  /** Whether something of it is open: such a session is in use however long its client says nothing. */
  get busy(): boolean {
    return this.#lastCall !== undefined || this.stream?.open === true;
  }

  /** The calls in flight, the latest first. */
  get calls(): readonly Cancellable[] {
    const calls: Cancellable[] = [];
    for (let call = this.#lastCall; call; call = call.earlier) calls.push(call);
    return calls;
  }

  /** Whether a request with this id still runs. */
  isRunning(id: RpcId): boolean {
    for (let call = this.#lastCall; call; call = call.earlier)
      if (isSameId(call.id, id)) return true;
    return false;
  }

  /** Remembers a call as long as it runs. Links instead of a Map, which would be made again for nearly every call. */
  begin(call: Cancellable): void {
    call.earlier = this.#lastCall;
    if (this.#lastCall) this.#lastCall.later = call;
    this.#lastCall = call;
  }

  /** Forgets a call. */
  end(call: Cancellable): void {
    const { earlier, later } = call;
    if (later) later.earlier = earlier;
    else if (this.#lastCall === call) this.#lastCall = earlier;
    if (earlier) earlier.later = later;
    call.earlier = undefined;
    call.later = undefined;
  }
}

/** What a session of this id is called where its id is not to be seen. */
export function sessionKey(id: string): string {
  return hash("sha256", id, "base64url");
}

/** Bounds and the end of sessions. */
export interface SessionTableOptions {
  readonly max: number;
  /** Milliseconds. */
  readonly idle: number;
  /** Called once for every session that ended. */
  readonly onEnd: (session: Session, reason: SessionEnd) => void;
}

/** All sessions of one endpoint, in the order of their last use. */
export class SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #shares = new FairQuota();
  readonly #shapes = new Map<string, Json>();
  readonly #options: SessionTableOptions;
  #oldest: Session | undefined;
  #newest: Session | undefined;
  #sweep: NodeJS.Timeout | undefined;

  constructor(options: SessionTableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Every session, the longest unused first. */
  *[Symbol.iterator](): Generator<Session> {
    yield* this.#sessions.values();
  }

  /** Makes a session that is yet to be added; `undefined` when the capabilities are too large. */
  create(principal: string, version: string, capabilities: Json, id?: string): Session | undefined {
    const shared = this.#share(capabilities);
    return shared && new Session(principal, version, shared, id);
  }

  /** Opens a session; at the limit the longest idle one of the principal with the most makes way. */
  add(session: Session): void {
    const { principal } = session;
    while (this.#sessions.size >= this.#options.max) this.#end(this.#surplus(principal), "evicted");
    session.usedAt = Date.now();
    this.#sessions.set(session.id, session);
    this.#shares.add(principal);
    this.#append(session);
    this.#sweep ??= setTicker(() => this.#endIdle(), this.#sweepPeriod()).unref();
  }

  /** Clients of one make declare the same, so their sessions share one object. */
  #share(capabilities: Json): Json | undefined {
    const text = JSON.stringify(capabilities);
    if (text.length > MAX_CAPABILITIES) return undefined;
    const known = this.#shapes.get(text);
    if (known !== undefined) return known;
    if (this.#shapes.size < MAX_SHAPES) this.#shapes.set(text, capabilities);
    return capabilities;
  }

  #sweepPeriod(): number {
    return Math.max(10, Math.min(30_000, this.#options.idle / 4));
  }

  /** The session with this id if it belongs to the principal; counts as use. Foreign and unknown ids look the same. */
  find(id: string, principal: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== principal) return undefined;
    this.#touch(session);
    return session;
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Ends a session at its client's request. */
  delete(session: Session): void {
    this.#end(session, "deleted");
  }

  /** Ends those that matching principals opened; tells how many that were. */
  revoke(match: (principal: Principal) => boolean): number {
    const ending = [...this].filter(({ owner }) => owner !== undefined && match(owner));
    for (const session of ending) this.#end(session, "revoked");
    return ending.length;
  }

  /** Ends all. */
  close(): void {
    for (const session of this.#sessions.values()) this.#end(session, "shutdown");
  }

  /** Busy ones of the one with the most still go before anything of others. */
  #surplus(newcomer: string): Session {
    const isLargest = this.#shares.largestWith(newcomer);
    let busy: Session | undefined;
    for (let session = this.#oldest; session; session = session.newer) {
      if (!isLargest(session.principal)) continue;
      if (!session.busy) return session;
      busy ??= session;
    }
    return busy!;
  }

  #endIdle(): void {
    const limit = Date.now() - this.#options.idle;
    for (let session = this.#oldest; session && session.usedAt < limit;) {
      const next = session.newer;
      // Moved to the end, a busy session is looked at again only after another idle time.
      if (session.busy) this.#touch(session);
      else this.#end(session, "idle");
      session = next;
    }
  }

  #touch(session: Session): void {
    session.usedAt = Date.now();
    if (session === this.#newest) return;
    this.#unlink(session);
    this.#append(session);
  }

  #end(session: Session, reason: SessionEnd): void {
    if (!this.#sessions.delete(session.id)) return;
    this.#shares.remove(session.principal);
    this.#unlink(session);
    if (this.#sessions.size === 0) {
      clearInterval(this.#sweep);
      this.#sweep = undefined;
    }
    this.#options.onEnd(session, reason);
  }

  #append(session: Session): void {
    session.older = this.#newest;
    session.newer = undefined;
    if (this.#newest) this.#newest.newer = session;
    else this.#oldest = session;
    this.#newest = session;
  }

  #unlink({ older, newer }: Session): void {
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
  }
}
