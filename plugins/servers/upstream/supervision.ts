import { GatewayError, type ServerState, type ServerStatus, toGatewayError } from "propylon";
import { backoffDelay } from "propylon/kit";
import { abortError, downSince } from "propylon/internal";
import { reasonOf } from "propylon/process";
import type { Clock } from "../wire/clock.ts";
import type { Connection } from "../connection/connection.ts";
import { Gate } from "./gate.ts";
import { Liveness } from "../connection/liveness.ts";
import { unlessAborted } from "../wire/unless-aborted.ts";

/** Deaths in a row, each soon after connecting, that are answered by dialling at once. */
const QUICK_REDIALS = 3;

/** What a {@link Supervision} works with. */
export interface SupervisionOptions {
  readonly name: string;
  readonly transport: string;
  /** Waits after failed attempts, in milliseconds. */
  readonly backoff: { readonly initial: number; readonly max: number };
  /** Milliseconds between pings; 0 = none. */
  readonly ping: number;
  readonly clock: Clock;
  /** Opens a connection, ready for calls. */
  dial(signal: AbortSignal): Promise<Connection>;
  /** Does what a new connection needs; resolves with what is wrong with it as a sentence, if anything. */
  prepare(connection: Connection): Promise<string | undefined>;
  /** What to add to the words of an attempt that may take long. */
  words?(): string | undefined;
  /** The state changed. */
  changed(status: ServerStatus): void;
  /** What to say in place of a failure that keeps no call from its server; default: every failure does. */
  excuse?(error: GatewayError): string | undefined;
}

interface Attempt {
  readonly abort: AbortController;
  readonly connected: Promise<Connection>;
}

/**
 * Keeps one connection alive: `idle -> connecting -> ready | degraded -> connecting ...`, with `backoff` between attempts that
 * fail. There is never more than one attempt, and never more than one child, at a time.
 */
export class Supervision {
  /** The connection that takes calls now. */
  connection: Connection | undefined;
  status: ServerStatus;
  readonly #options: SupervisionOptions;
  /** Connections that lost their session; calls may still run on them. */
  readonly #retired = new Set<Connection>();
  #attempt: Attempt | undefined;
  /** What the last connection needed is done. */
  #prepared: Promise<void> = Promise.resolve();
  /** What is wrong with the connection, pings apart. */
  #problem: string | undefined;
  #liveness: Liveness | undefined;
  #cancelRetry: (() => void) | undefined;
  /** The wait after a first failure; calls wait too, since most servers that restart are back then. */
  #soon: Gate | undefined;
  #gone: Promise<void> = Promise.resolve();
  #connectedAt = 0;
  #quickDeaths = 0;
  #closed = false;

  constructor(options: SupervisionOptions) {
    this.#options = options;
    this.status = { state: "idle", since: this.#iso(), attempts: 0, transport: options.transport };
  }

  /** Calls in flight on connections that are current or were. */
  get inFlight(): number {
    let sum = this.connection?.inFlight ?? 0;
    for (const connection of this.#retired) sum += connection.inFlight;
    return sum;
  }

  /** Starts connecting. */
  start(): void {
    if (this.status.state === "idle") this.#dial("Connecting.");
  }

  /**
   * Waits for the outcome of the attempt under way, or of the next one where that comes soon.
   * @throws {GatewayError} `upstream_error` at once while there is neither, with the reason and the time of the next
   */
  whenConnected(signal: AbortSignal): Promise<Connection> {
    if (this.connection) return Promise.resolve(this.connection);
    if (this.#attempt) return unlessAborted(this.#attempt.connected, signal);
    if (!this.#soon) return Promise.reject(this.unavailable());
    return unlessAborted(this.#soon.promise, signal).then(() => this.whenConnected(signal));
  }

  /** A connection takes no more calls. One that was healthy is dialled again at once; one that keeps dying is not. */
  lost(connection: Connection, error: GatewayError): void {
    if (connection !== this.connection) return;
    this.#detach();
    this.#retire(connection, error);
    if (this.#closed) return;
    const { clock, backoff } = this.#options;
    if (clock.now() - this.#connectedAt >= backoff.initial) this.#quickDeaths = 0;
    if (++this.#quickDeaths <= QUICK_REDIALS)
      this.#dial(`Connecting again: ${reasonOf(error)}`, error);
    else this.#failed(error);
  }

  /** Says how well a connection works: `problem` is what is wrong, `undefined` is nothing. */
  judge(connection: Connection, problem: string | undefined): void {
    if (connection !== this.connection || this.#closed) return;
    this.#problem = problem;
    this.#show(connection);
  }

  #show(connection: Connection): void {
    const problem = this.#liveness?.problem ?? this.#problem;
    const { handshake, wire } = connection;
    const facts = {
      era: handshake?.era,
      protocolVersion: handshake?.version,
      pid: wire.pid,
      attempts: 0,
    };
    if (problem === undefined) this.#enter("ready", { ...facts, reason: undefined });
    else this.#enter("degraded", { ...facts, reason: problem, lastError: problem });
  }

  /** Serves without a connection of its own, since each caller has one; `problem` is what that lacks. */
  serveWithout(problem: string | undefined): void {
    if (this.connection || this.#attempt || this.#closed) return;
    const facts = { attempts: 0, nextRetryAt: undefined };
    if (problem === undefined) this.#enter("ready", { ...facts, reason: undefined });
    else this.#enter("degraded", { ...facts, reason: problem });
  }

  /** Drops whatever there is and connects again; resolves when the outcome is known, good or bad. */
  async reconnect(): Promise<void> {
    if (this.#closed) return;
    await this.#stop(
      new GatewayError("upstream_error", `Server "${this.#options.name}" is being reconnected.`),
    );
    this.#quickDeaths = 0;
    this.status = { ...this.status, attempts: 0 };
    // Somebody else may have asked at the same time, and been first.
    if (!this.#attempt && !this.connection && !this.#closed)
      this.#dial("Connecting again because somebody asked for it.");
    await this.#settled();
  }

  /** Waits until nothing is being tried: connected and prepared, or waiting for the next attempt. */
  async #settled(): Promise<void> {
    do {
      await this.#attempt?.connected.catch(() => undefined);
      await this.#prepared;
    } while (this.#attempt);
  }

  /** Ends everything after the calls in flight, at most after `graceMs`. Nothing is dialled any more. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    this.#endWait();
    const error = new GatewayError(
      "upstream_error",
      `Server "${this.#options.name}" was removed from the gateway.`,
    );
    if (this.#attempt && !this.connection) this.#attempt.abort.abort(error);
    const live = [this.connection, ...this.#retired].filter((each) => each !== undefined);
    await Promise.all(live.map((connection) => connection.drained(graceMs)));
    await this.#stop(error);
    await Promise.all([...this.#retired].map((connection) => connection.close(error)));
    this.#enter("closed", {
      reason: "Removed from the gateway, or the gateway is closing.",
      nextRetryAt: undefined,
      pid: undefined,
    });
  }

  /** The error for calls that find no connection. Clients learn the state; the reason, which may quote a child, is for operators. */
  unavailable(): GatewayError {
    const { state, nextRetryAt } = this.#closed
      ? { state: "closed", nextRetryAt: undefined }
      : this.status;
    const next = nextRetryAt === undefined ? "" : ` Next attempt at ${nextRetryAt}.`;
    return new GatewayError(
      "upstream_error",
      `Server "${this.#options.name}" is not available (${state}).${next}`,
      {
        data: { server: this.#options.name, state, ...(nextRetryAt && { nextRetryAt }) },
      },
    );
  }

  async #stop(error: GatewayError): Promise<void> {
    this.#cancelRetry?.();
    this.#attempt?.abort.abort(error);
    await this.#attempt?.connected.catch(() => undefined);
    await this.#detach()?.close(error);
    await this.#gone;
  }

  #dial(reason: string, error?: GatewayError): void {
    const abort = new AbortController();
    const connected = this.#connect(abort.signal);
    const attempt: Attempt = { abort, connected };
    this.#attempt = attempt;
    connected.catch(() => undefined);
    this.#endWait();
    const words = this.#options.words?.();
    this.#enter("connecting", {
      reason: words === undefined ? reason : `${reason} ${words}`,
      nextRetryAt: undefined,
      pid: undefined,
      ...(error && { lastError: reasonOf(error) }),
    });
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    try {
      await this.#gone;
      const connection = await this.#options.dial(signal);
      this.#attempt = undefined;
      if (this.#closed || signal.aborted) {
        await connection.close(abortError(signal));
        throw abortError(signal);
      }
      this.connection = connection;
      this.#connectedAt = this.#options.clock.now();
      this.#prepared = this.#prepare(connection);
      return connection;
    } catch (thrown) {
      this.#attempt = undefined;
      if (this.#closed || signal.aborted) throw thrown;
      this.#failed(toGatewayError(thrown));
      throw this.unavailable();
    }
  }

  async #prepare(connection: Connection): Promise<void> {
    this.judge(connection, await this.#options.prepare(connection));
    const { ping, clock } = this.#options;
    if (connection !== this.connection || this.#closed || ping === 0 || !Liveness.fits(connection))
      return;
    const changed = (): void => {
      if (connection === this.connection && !this.#closed) this.#show(connection);
    };
    this.#liveness = new Liveness({ connection, interval: ping, clock, changed });
  }

  /** The connection, which is not the current one from now on. */
  #detach(): Connection | undefined {
    const { connection } = this;
    this.connection = undefined;
    this.#liveness?.close();
    this.#liveness = undefined;
    return connection;
  }

  /** Nobody waits for the next attempt any more: it begins, or there is none. */
  #endWait(): void {
    this.#cancelRetry?.();
    this.#soon?.end();
    this.#soon = undefined;
  }

  #failed(error: GatewayError): void {
    const excuse = this.#options.excuse?.(error);
    if (excuse !== undefined) return this.serveWithout(excuse === "" ? undefined : excuse);
    const { backoff, clock, transport } = this.#options;
    const attempts = this.status.attempts + 1;
    // The server answered, and what it said will not change by asking soon: shown as failed, tried at the slowest pace.
    const final = error.data?.["final"] === true;
    const retryAfter = Number(error.data?.["retryAfter"] ?? 0);
    const pace = final ? { initial: backoff.max, max: backoff.max } : backoff;
    const wait = backoffDelay(attempts, pace, retryAfter, clock.random());
    if (!final && attempts === 1 && wait < 2 * backoff.initial && transport !== "stdio")
      this.#soon = new Gate();
    const hint = error.hint === undefined ? "" : ` ${error.hint}`;
    this.#cancelRetry = clock.after(wait, () =>
      this.#dial(`Trying again: ${reasonOf(error)}${hint}`),
    );
    this.#enter(final ? "failed" : "backoff", {
      reason: `${reasonOf(error)}${hint}`,
      lastError: reasonOf(error),
      nextRetryAt: new Date(clock.now() + wait).toISOString(),
      attempts,
      pid: undefined,
    });
  }

  /**
   * A child is ended at once; calls over HTTP run on streams of their own and may finish. The wait needs no bound of its own:
   * every call passes the stage `deadline`, which ends it here too.
   */
  #retire(connection: Connection, error: GatewayError): void {
    if (connection.wire.transport !== "streamable-http") {
      this.#gone = connection.close(error);
      return;
    }
    this.#retired.add(connection);
    void connection
      .drained()
      .then(() => connection.close(error))
      .finally(() => this.#retired.delete(connection));
  }

  #enter(state: ServerState, facts: Partial<ServerStatus>): void {
    const before = this.status;
    const now = this.#iso();
    const since = state === before.state ? before.since : now;
    this.status = { ...before, ...facts, state, since, downSince: downSince(before, state, now) };
    if (before.state !== state || before.reason !== this.status.reason)
      this.#options.changed(this.status);
  }

  #iso(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
