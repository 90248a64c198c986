import type { Logger } from "pino";
import { type Call, GatewayError, isGatewayError, toGatewayError } from "propylon";
import type { ListName } from "propylon/kit";
import type { Clock } from "./clock.ts";
import type { Connection, ConnectionHost } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import { HttpWire } from "./http.ts";
import { unlessAborted } from "./unless-aborted.ts";

/** Connections of principals to one server; each may be a process. A principal beyond uses the shared connection. */
const MAX_CONNECTIONS = 16;
/** How long one without calls is kept, in milliseconds. */
const IDLE_MS = 300_000;

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
  /** Opens a connection of the legacy era. */
  readonly dial: (host: ConnectionHost, signal: AbortSignal) => Promise<Connection>;
  /** Does what a new connection needs. */
  readonly prepare: (connection: Connection) => Promise<unknown>;
  readonly host: ConnectionHost;
  /** A list changed on one of them. */
  readonly listChanged: (connection: Connection, list: ListName) => void;
}

interface Own {
  readonly opened: Promise<Connection>;
  connection: Connection | undefined;
  /** Stops the clock of an idle one. */
  keep: (() => void) | undefined;
}

/**
 * Connections of the legacy era beside the shared one, one for each principal whose clients can be asked (decisions 0002 and
 * 0003). A server on an SDK of both eras refuses its own `elicitation/create` and `sampling/createMessage` where it is spoken
 * to in the modern era. And over a legacy connection that principals share, a question may not say whose it is.
 */
export class OwnConnections {
  readonly #options: OwnConnectionsOptions;
  readonly #abort = new AbortController();
  readonly #all = new Map<string, Own>();
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

  /** Whether a call that could go over the `shared` connection needs one of its principal's. */
  suits({ peer }: Call, shared: Connection): boolean {
    const needed =
      shared.handshake?.era === "modern"
        ? this.#options.isEitherEra && peer.era === "legacy"
        : // A second process would not know what the first one knows.
          shared.asks && shared.wire.transport !== "stdio";
    if (!needed || shared === this.#settledFor) return false;
    return ASKABLE.some((each) => each in peer.capabilities);
  }

  /**
   * The connection of the call's principal, opened when first needed; the `shared` one when there can be none.
   * @throws {GatewayError} why the call was aborted meanwhile
   */
  async of({ principal: { ref }, signal }: Call, shared: Connection): Promise<Connection> {
    const own = this.#all.get(ref) ?? this.#open(ref, shared);
    if (own === undefined) return shared;
    const connection = await unlessAborted(own.opened, signal).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
    this.#watch(ref, own);
    return connection ?? shared;
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
    this.#all.clear();
    await Promise.all(all.map((own) => end(own, error, graceMs)));
  }

  #open(ref: string, shared: Connection): Own | undefined {
    const { clock } = this.#options;
    if (this.#abort.signal.aborted || clock.now() < this.#retryAt || !this.#makeRoom())
      return undefined;
    const own: Own = { opened: this.#dial(ref), connection: undefined, keep: undefined };
    this.#all.set(ref, own);
    own.opened.then(
      (connection) => (own.connection = connection),
      (error: unknown) => this.#failed(ref, own, shared, error),
    );
    return own;
  }

  async #dial(ref: string): Promise<Connection> {
    const { dial, prepare, host } = this.#options;
    const lost: ConnectionHost["lost"] = (connection, error, resend) =>
      this.#lost(ref, connection, error, resend);
    let connection: Connection | undefined = undefined;
    const listChanged: ConnectionHost["listChanged"] = (list) =>
      connection && this.#options.listChanged(connection, list);
    connection = await dial({ ...host, lost, listChanged }, this.#abort.signal);
    try {
      const { wire } = connection;
      // Without a session an answer of the client would find nobody who waits for it.
      if (wire instanceof HttpWire && wire.session === undefined)
        throw failure(this.#options.name, "has no sessions", { final: true });
      await prepare(connection);
      return connection;
    } catch (error) {
      void connection.close(toGatewayError(error));
      throw error;
    }
  }

  #failed(ref: string, own: Own, shared: Connection, error: unknown): void {
    const { name, log, clock, retry } = this.#options;
    if (this.#all.get(ref) === own) this.#all.delete(ref);
    // What the server said will not change as long as it is the same server.
    if (isGatewayError(error) && error.data?.["final"] === true) this.#settledFor = shared;
    else this.#retryAt = clock.now() + retry;
    log.debug({ err: error, server: name }, "no connection of the legacy era");
  }

  /** Makes the longest idle one go when there are too many; tells whether there is room. */
  #makeRoom(): boolean {
    if (this.#all.size < MAX_CONNECTIONS) return true;
    for (const [ref, own] of this.#all) {
      if (own.connection?.inFlight !== 0) continue;
      this.#drop(ref, own);
      return true;
    }
    return false;
  }

  /** Used now; the last in the order, and its idle time begins anew. */
  #watch(ref: string, own: Own): void {
    if (this.#all.get(ref) !== own) return;
    own.keep?.();
    this.#all.delete(ref);
    this.#all.set(ref, own);
    own.keep = this.#options.clock.after(IDLE_MS, () => {
      if (own.connection?.inFlight === 0) this.#drop(ref, own);
      else this.#watch(ref, own);
    });
  }

  #drop(ref: string, own: Own): void {
    this.#all.delete(ref);
    void end(own, failure(this.#options.name, "was not used over this connection"), 0);
  }

  #lost(
    ref: string,
    connection: Connection,
    error: GatewayError,
    resend: Exchange | undefined,
  ): void {
    const own = this.#all.get(ref);
    if (own?.connection === connection) {
      own.keep?.();
      this.#all.delete(ref);
    }
    void connection.drained().then(() => connection.close(error));
    if (resend) this.#options.host.lost(connection, error, resend);
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
