import type { Logger } from "pino";
import { type Call, GatewayError, isGatewayError, toGatewayError } from "propylon";
import { FairQuota, type ListName } from "propylon/kit";
import type { Clock } from "./clock.ts";
import type { Connection, ConnectionHost } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import { HttpWire } from "./http.ts";
import type { Credentials, ServerCredentials } from "./personal.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** How long one without calls is kept, in milliseconds. */
const IDLE_MS = 300_000;
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
  /** Most connections. A principal beyond uses the shared connection, where it may. */
  readonly maxConnections: number;
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

interface Own {
  readonly key: string;
  readonly ref: string;
  usedAt: number;
  readonly opened: Promise<Connection>;
  connection: Connection | undefined;
  /** Stops the clock of an idle one. */
  keep: (() => void) | undefined;
}

/**
 * Connections of principals. Where a server is sent something else of each, they carry all calls. Else they are of the legacy
 * era and beside the shared one, for principals whose clients can be asked (decisions 0002 and 0003). A server on an SDK of both eras refuses its own `elicitation/create` and `sampling/createMessage` where it is spoken
 * to in the modern era. And over a legacy connection that principals share, a question may not say whose it is.
 */
export class OwnConnections {
  readonly #options: OwnConnectionsOptions;
  readonly #abort = new AbortController();
  readonly #all = new Map<string, Own>();
  readonly #shares = new FairQuota();
  /** The shared connection whose server has nothing better to offer. */
  #settledFor: Connection | undefined;
  #retryAt = 0;

  constructor(options: OwnConnectionsOptions) {
    this.#options = options;
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

  /** The open connection of the call's principal, at once. */
  at(call: Call): Connection | undefined {
    const own = this.#all.get(this.#keyOf(call));
    if (own?.connection) own.usedAt = this.#options.clock.now();
    return own?.connection;
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
    own.usedAt = this.#options.clock.now();
    const connection = await unlessAborted(own.opened, signal).catch((error: unknown) => {
      if (signal.aborted || shared === undefined) throw error;
      return undefined;
    });
    return connection ?? shared!;
  }

  /**
   * Ends all: after the calls in flight, at most after `graceMs`. New ones can be opened, unless it is for good.
   *
   * @param why what becomes of the server, as the end of a sentence
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

  #open(key: string, call: Call, shared: Connection | undefined): Own | undefined {
    const { clock, credentials } = this.#options;
    const { principal } = call;
    if (this.#abort.signal.aborted) return undefined;
    if (shared !== undefined && clock.now() < this.#retryAt) return undefined;
    if (!this.#makeRoom(principal.ref)) return undefined;
    const own: Own = {
      key,
      ref: principal.ref,
      usedAt: clock.now(),
      opened: this.#dial(key, credentials?.of(principal)),
      connection: undefined,
      keep: undefined,
    };
    this.#all.set(key, own);
    this.#shares.add(own.ref);
    own.opened.then(
      (connection) => {
        own.connection = connection;
        this.#watch(own);
      },
      (error: unknown) => this.#failed(own, shared, error),
    );
    return own;
  }

  async #dial(key: string, credentials: Credentials | undefined): Promise<Connection> {
    const { dial, prepare, host } = this.#options;
    const lost: ConnectionHost["lost"] = (connection, error, resend) =>
      this.#lost(key, connection, error, resend);
    let connection: Connection | undefined = undefined;
    const listChanged: ConnectionHost["listChanged"] = (list) =>
      connection && this.#options.listChanged(connection, list);
    connection = await dial({ ...host, lost, listChanged }, this.#abort.signal, credentials);
    try {
      this.#checkSession(connection);
      await prepare(connection);
      return connection;
    } catch (error) {
      void connection.close(toGatewayError(error));
      throw error;
    }
  }

  /** Without a session an answer of the client would find nobody who waits for it. */
  #checkSession({ wire }: Connection): void {
    const isUseless = !this.isPersonal && wire instanceof HttpWire && wire.session === undefined;
    if (isUseless) throw failure(this.#options.name, "has no sessions", { final: true });
  }

  #failed(own: Own, shared: Connection | undefined, error: unknown): void {
    const { name, log, clock, retry } = this.#options;
    this.#forget(own);
    // What the server said will not change as long as it is the same server.
    if (isGatewayError(error) && error.data?.["final"] === true) this.#settledFor = shared;
    else this.#retryAt = clock.now() + retry;
    log.debug({ err: error, server: name }, "no connection of a principal");
  }

  /** Makes one that is idle go when there are too many: of whoever has most, the longest idle. Tells whether there is room. */
  #makeRoom(newcomer: string): boolean {
    if (this.#all.size < this.#options.maxConnections) return true;
    const isLargest = this.#shares.largestWith(newcomer);
    const idle = [...this.#all.values()]
      .filter(({ connection }) => connection?.inFlight === 0)
      .toSorted((a, b) => a.usedAt - b.usedAt);
    const victim = idle.find(({ ref }) => isLargest(ref)) ?? idle[0];
    if (victim) this.#drop(victim, 0);
    return victim !== undefined;
  }

  /** Ends it once it is idle for long. */
  #watch(own: Own): void {
    const { clock } = this.#options;
    if (this.#all.get(own.key) !== own) return;
    const left = own.usedAt + IDLE_MS - clock.now();
    own.keep = clock.after(Math.max(left, 1_000), () => {
      const isIdle = own.connection?.inFlight === 0 && clock.now() - own.usedAt >= IDLE_MS;
      if (isIdle) this.#drop(own, 0);
      else this.#watch(own);
    });
  }

  #drop(own: Own, graceMs: number): void {
    this.#forget(own);
    void end(own, failure(this.#options.name, "was not used over this connection"), graceMs);
  }

  #forget(own: Own): void {
    own.keep?.();
    if (this.#all.get(own.key) !== own) return;
    this.#all.delete(own.key);
    this.#shares.remove(own.ref);
  }

  #lost(
    key: string,
    connection: Connection,
    error: GatewayError,
    resend: Exchange | undefined,
  ): void {
    const own = this.#all.get(key);
    if (own?.connection === connection) this.#forget(own);
    void connection.drained().then(() => connection.close(error));
    if (resend) this.#options.host.lost(connection, error, resend);
  }

  #crowded(): never {
    throw new GatewayError(
      "unavailable",
      `Too many people use the server "${this.#options.name}" at once.`,
      { hint: `Try again soon, or raise servers.${this.#options.name}.auth.maxConnections.` },
    );
  }
}

async function end(own: Own, error: GatewayError, graceMs: number): Promise<void> {
  own.keep?.();
  const connection = await own.opened.catch(() => undefined);
  await connection?.drained(graceMs);
  await connection?.close(error);
}

function failure(name: string, what: string, data?: object): GatewayError {
  return new GatewayError("upstream_error", `Server "${name}" ${what}.`, {
    data: { server: name, ...data },
  });
}
