import type { Logger } from "pino";
import { type Call, GatewayError, isGatewayError, type Principal, toGatewayError } from "propylon";
import type { ServerEvent } from "propylon/kit";
import type { ListName } from "propylon/internal";
import type { Clock } from "../wire/clock.ts";
import type { Connection, ConnectionHost } from "../connection/connection.ts";
import type { Keeper } from "./endings.ts";
import type { Exchange } from "../wire/exchange.ts";
import { HttpWire } from "../http/http.ts";
import { Liveness } from "../connection/liveness.ts";
import type { Credentials, ServerCredentials } from "../http/personal.ts";
import { type Placed, OwnBounds, type OwnBoundsOptions } from "../own-bounds.ts";
import { unlessAborted } from "../wire/unless-aborted.ts";

/** How long the calls of one that goes may last, in milliseconds. */
const GRACE_MS = 60_000;

/** Client capabilities by which a server can ask a client. */
const ASKABLE = ["elicitation", "sampling", "roots"] as const;

/** What {@link OwnConnections} work with. */
export interface OwnConnectionsOptions {
  readonly name: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** How long the server is left alone after an attempt that failed, in milliseconds. */
  readonly retry: number;
  /** Whether the server may be spoken to in either era (`protocol: auto`). */
  readonly isEitherEra: boolean;
  /** How many there may be. A principal beyond uses the shared connection, where it may. */
  readonly bounds: OwnBoundsOptions;
  /** How long one without calls is kept, in milliseconds. */
  readonly idle: number;
  /** Milliseconds between pings; 0 = none. */
  readonly ping: number;
  /** Whose requests are sent how, where each principal needs a connection of its own. */
  readonly credentials: ServerCredentials | undefined;
  /** Opens a connection: with the credentials of a principal, or one of the legacy era. */
  readonly dial: (
    host: ConnectionHost,
    signal: AbortSignal,
    credentials: Credentials | undefined,
  ) => Promise<Connection>;
  /** Does what a new connection needs. */
  readonly prepare: (connection: Connection) => Promise<unknown>;
  readonly host: ConnectionHost;
  /** A list changed on one of them. */
  readonly listChanged: (connection: Connection, list: ListName) => void;
}

/** A connection of a principal. */
class Own implements Placed {
  readonly key: string;
  /** The MCP session that it ends with. */
  readonly session: string | undefined;
  /** As in the newest call: what is withdrawn may be a credential of many. */
  principal: Principal;
  usedAt: number;
  connection: Connection | undefined;
  opened!: Promise<Connection>;
  /** Stops the clock of an idle one. */
  keep: (() => void) | undefined;
  liveness: Liveness | undefined;
  /** Says that its place is free. */
  gone!: () => void;

  constructor(key: string, principal: Principal, session: string | undefined, now: number) {
    this.key = key;
    this.principal = principal;
    this.session = session;
    this.usedAt = now;
  }

  get ref(): string {
    return this.principal.ref;
  }

  get isIdle(): boolean {
    return this.connection?.inFlight === 0;
  }
}

/**
 * Connections of principals. Where a server is sent something else of each, they carry all calls. Else they are of the legacy
 * era and beside the shared one, for principals whose clients can be asked (decisions 0002 and 0003). A server on an SDK of both eras refuses its own `elicitation/create` and `sampling/createMessage` where it is spoken
 * to in the modern era. And over a legacy connection that principals share, a question may not say whose it is.
 */
export class OwnConnections implements Keeper {
  readonly #options: OwnConnectionsOptions;
  readonly #abort = new AbortController();
  readonly #all = new Map<string, Own>();
  readonly #places: OwnBounds<Own>;
  /** The shared connection whose server has nothing better to offer. */
  #settledFor: Connection | undefined;
  #retryAt = 0;
  /** Why the last attempt failed. */
  #failure: unknown;

  constructor(options: OwnConnectionsOptions) {
    this.#options = options;
    this.#places = new OwnBounds(options.bounds);
  }

  /** Calls in flight on them. */
  get inFlight(): number {
    let sum = 0;
    for (const { connection } of this.#all.values()) sum += connection?.inFlight ?? 0;
    return sum;
  }

  /** Those that are open. */
  get open(): readonly Connection[] {
    return [...this.#all.values()].flatMap(({ connection }) => connection ?? []);
  }

  /** Whether every principal needs one, and the shared connection carries no call. */
  get isPersonal(): boolean {
    return this.#options.credentials?.isPersonal === true;
  }

  /** Whether there may be none that is shared: the server may let nobody in but its callers. */
  get isSecret(): boolean {
    return this.#options.credentials?.isSecret === true;
  }

  /** The open connection of the call's principal, at once. */
  at(call: Call): Connection | undefined {
    const own = this.#all.get(this.#keyOf(call));
    if (own?.connection) this.#use(own, call);
    return own?.connection;
  }

  sessionEnded(key: string): void {
    for (const own of this.#all.values()) if (own.session === key) this.#drop(own, GRACE_MS);
  }

  evicted(match: (principal: Principal) => boolean): void {
    for (const own of this.#all.values()) if (match(own.principal)) this.#drop(own, GRACE_MS);
  }

  /** Ends that of a principal after its calls: it logged in or out. */
  drop(ref: string): void {
    for (const own of this.#all.values()) if (own.ref === ref) this.#drop(own, GRACE_MS);
  }

  /** Whether a call that could go over the `shared` connection needs one of its principal's. */
  suits({ peer }: Call, shared: Connection): boolean {
    if (this.isPersonal) return true;
    const needed =
      shared.handshake?.era === "modern"
        ? this.#options.isEitherEra && peer.era === "legacy"
        : // A second process would not know what the first one knows.
          shared.asks && shared.wire.transport !== "stdio";
    if (!needed || shared === this.#settledFor) return false;
    return ASKABLE.some((each) => each in peer.capabilities);
  }

  /**
   * The connection of the call's principal, opened when first needed; the `shared` one when there can be none and none is needed.
   * @throws {GatewayError} why the call was aborted meanwhile; why there is none
   */
  async of(call: Call, shared: Connection | undefined): Promise<Connection> {
    const { signal } = call;
    const key = this.#keyOf(call);
    const own = this.#all.get(key) ?? this.#open(key, call, shared);
    if (own === undefined) return shared ?? this.#crowded();
    this.#use(own, call);
    const connection = await unlessAborted(own.opened, signal).catch((error: unknown) => {
      if (signal.aborted || shared === undefined) throw error;
      return undefined;
    });
    return connection ?? shared!;
  }

  /**
   * Ends all: after the calls in flight, at most after `graceMs`. New ones can be opened, unless it is for good.
   *
   * @param why what happens to the server, as the end of a sentence
   */
  async close(why: string, graceMs: number, forGood: boolean): Promise<void> {
    const error = failure(this.#options.name, why);
    if (forGood) this.#abort.abort(error);
    const all = [...this.#all.values()];
    for (const own of all) this.#forget(own);
    await Promise.all(all.map((own) => end(own, error, graceMs)));
  }

  #keyOf(call: Call): string {
    return this.#options.credentials?.keyOf(call) ?? call.principal.ref;
  }

  #use(own: Own, { principal }: Call): void {
    own.usedAt = this.#options.clock.now();
    own.principal = principal;
  }

  #open(key: string, call: Call, shared: Connection | undefined): Own | undefined {
    const { clock, credentials } = this.#options;
    const { principal } = call;
    if (this.#abort.signal.aborted) return undefined;
    if (clock.now() < this.#retryAt) {
      if (shared !== undefined) return undefined;
      if (!this.isSecret) throw this.#failure;
    }
    if (!this.#makeRoom(principal.ref)) return undefined;
    const own = new Own(key, principal, credentials?.sessionOf(call.peer), clock.now());
    own.opened = this.#dial(own, credentials?.of(principal));
    this.#all.set(key, own);
    own.gone = this.#places.take(own);
    own.opened.then(
      (connection) => this.#opened(own, connection),
      (error: unknown) => this.#failed(own, shared, error),
    );
    return own;
  }

  #opened(own: Own, connection: Connection): void {
    const { ping: interval, clock } = this.#options;
    own.connection = connection;
    if (this.#all.get(own.key) !== own) return;
    this.#watch(own);
    if (this.isPersonal && interval > 0 && Liveness.fits(connection))
      own.liveness = new Liveness({ connection, interval, clock, changed() {} });
  }

  async #dial(own: Own, credentials: Credentials | undefined): Promise<Connection> {
    const { dial, prepare, host } = this.#options;
    const lost: ConnectionHost["lost"] = (connection, error, resend) =>
      this.#lost(own, connection, error, resend);
    let connection: Connection | undefined = undefined;
    const listChanged: ConnectionHost["listChanged"] = (list) =>
      connection && this.#options.listChanged(connection, list);
    const event = (each: ServerEvent): void => host.event(this.#ownedBy(own, each));
    const all = { ...host, lost, listChanged, event };
    connection = await dial(all, this.#abort.signal, credentials);
    try {
      this.#checkSession(connection);
      await prepare(connection);
      return connection;
    } catch (error) {
      void connection.close(toGatewayError(error));
      throw error;
    }
  }

  /** What changed in the state that a server has for one principal is news for nobody else. */
  #ownedBy({ ref }: Own, event: ServerEvent): ServerEvent {
    return this.isPersonal && event.type === "updated" ? { ...event, principal: ref } : event;
  }

  /** Without a session an answer of the client would find nobody who waits for it. */
  #checkSession({ wire }: Connection): void {
    const isUseless = !this.isPersonal && wire instanceof HttpWire && wire.session === undefined;
    if (isUseless) throw failure(this.#options.name, "has no sessions", { final: true });
  }

  #failed(own: Own, shared: Connection | undefined, error: unknown): void {
    const { name, log, clock, retry } = this.#options;
    this.#forget(own);
    own.gone();
    this.#failure = error;
    // What the server said will not change as long as it is the same server.
    const isFinal = isGatewayError(error) && error.data?.["final"] === true;
    if (isFinal && !this.isPersonal) this.#settledFor = shared;
    else this.#retryAt = clock.now() + retry;
    log.debug({ err: error, server: name }, "no connection of a principal");
  }

  /** Makes one that is idle go when there are too many. Tells whether there is room. */
  #makeRoom(newcomer: string): boolean {
    if (this.#places.hasRoom(newcomer)) return true;
    const victim = this.#places.victim(newcomer);
    if (victim) this.#drop(victim, 0);
    return victim !== undefined;
  }

  /** Ends it once it is idle for long. */
  #watch(own: Own): void {
    const { clock, idle } = this.#options;
    if (this.#all.get(own.key) !== own) return;
    const left = own.usedAt + idle - clock.now();
    own.keep = clock.after(Math.max(left, 1_000), () => {
      if (own.isIdle && clock.now() - own.usedAt >= idle) this.#drop(own, 0);
      else this.#watch(own);
    });
  }

  #drop(own: Own, graceMs: number): void {
    this.#forget(own);
    void end(own, failure(this.#options.name, "was not used over this connection"), graceMs);
  }

  #forget(own: Own): void {
    own.keep?.();
    own.liveness?.close();
    if (this.#all.get(own.key) !== own) return;
    this.#all.delete(own.key);
    this.#places.leave(own);
  }

  #lost(own: Own, connection: Connection, error: GatewayError, resend: Exchange | undefined): void {
    if (own.connection === connection) this.#forget(own);
    void connection
      .drained()
      .then(() => connection.close(error))
      .finally(own.gone);
    if (resend) this.#options.host.lost(connection, error, resend);
  }

  #crowded(): never {
    throw new GatewayError(
      "unavailable",
      `Too many people use the server "${this.#options.name}" at once.`,
      { hint: `Try again soon, or raise servers.${this.#options.name}.connection.max.` },
    );
  }
}

async function end(own: Own, error: GatewayError, graceMs: number): Promise<void> {
  own.keep?.();
  const connection = await own.opened.catch(() => undefined);
  await connection?.drained(graceMs);
  await connection?.close(error);
  own.gone();
}

function failure(name: string, what: string, data?: object): GatewayError {
  return new GatewayError("upstream_error", `Server "${name}" ${what}.`, {
    data: { server: name, ...data },
  });
}
