import type { Logger } from "pino";
import { GatewayError, type ServerStatus, toGatewayError } from "propylon";
import { type ProbeReport, Semaphore, type ProbeRung } from "propylon/kit";
import { type Era, abortError, amendError } from "propylon/internal";
import type { HttpServerConfig } from "../entry.ts";
import type { ServersOptions } from "../options.ts";
import type { UpstreamConfig } from "./dial.ts";
import { Connection, type ConnectionHost } from "./connection.ts";
import type { Dropped } from "../wire/dropped.ts";
import type { ClientInfo } from "../wire/envelope.ts";
import { greet } from "./greeting.ts";
import { HttpWire } from "../http/http.ts";
import { readSecureContext } from "../tls-files.ts";
import { SseWire } from "../http/sse-legacy.ts";
import { statusOf } from "../wire/faults.ts";

/** How long an answer that came too late is still waited for, so that the session it opens can be ended, in milliseconds. */
const LINGER_MS = 5_000;

/** A probe's own connection reports to nobody. */
const NOBODY: ConnectionHost = { lost() {}, listChanged() {}, event() {}, missed() {} };

/** What a {@link Probe} works with. */
export interface ProbeOptions {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly clientInfo: ClientInfo;
  readonly log: Logger;
  /** Directory that relative paths start from. */
  readonly cwd: string;
  readonly dropped: Dropped;
  readonly maxDepth: number;
  /** Default: our own. */
  readonly httpClient?: ServersOptions["httpClient"] | undefined;
  /** Of the connection that carries calls. */
  readonly status: () => ServerStatus;
  /** That connection, once it is there. */
  whenConnected(signal: AbortSignal): Promise<Connection>;
  /** Dials without waiting for the next attempt. */
  readonly reconnect: () => Promise<void>;
}

/**
 * Asks a server whether it is there. Over HTTP on a connection of its own, as a newcomer would; a child is asked on
 * the one it has, because a second child would say nothing about the first. One probe at a time.
 */
export class Probe {
  readonly #options: ProbeOptions;
  readonly #turns = new Semaphore(1);
  readonly #closing = new AbortController();
  /** Era in which the last probe succeeded. */
  #era: Era | undefined;
  /** Whether the last probe was answered. */
  #isThere = false;
  /** The last probe has left nothing behind. */
  #cleared: Promise<void> = Promise.resolve();

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** @throws {GatewayError} as {@link Provider.probe} */
  async ask(signal: AbortSignal): Promise<ProbeReport> {
    const { config } = this.#options;
    try {
      const end = await this.#turns.take(signal);
      const report =
        "command" in config
          ? await this.#askChild(signal).finally(end)
          : await this.#askAnew(config, signal, end);
      this.#compare();
      return report;
    } catch (thrown) {
      const error = toProbeFailure(signal.aborted ? abortError(signal) : thrown);
      this.#isThere &&= error.data?.["answers"] === true;
      throw error;
    }
  }

  /** Ends what goes on. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#cleared;
  }

  /** The server answers; calls may fare worse. The details are in its status: they may quote it, and this is read by its callers. */
  #compare(): void {
    const { name, status, reconnect } = this.#options;
    const wasThere = this.#isThere;
    this.#isThere = true;
    const { state } = status();
    const data = { server: name, answers: true };
    if (state === "degraded")
      throw new GatewayError(
        "upstream_error",
        `Server "${name}" answers, but not to all it should: a list could not be read, or a ping got no answer.`,
        { data: { ...data, failed: "list" } },
      );
    if (state !== "backoff" && state !== "failed") return;
    if (wasThere)
      throw new GatewayError(
        "upstream_error",
        `Server "${name}" answers, but a connection for calls cannot be made.`,
        { data: { ...data, failed: "handshake" } },
      );
    // It is back: calls need not wait for the next attempt. Only once, or a server that fails later would be dialled forever.
    void reconnect();
  }

  async #askChild(signal: AbortSignal): Promise<ProbeReport> {
    const connection = await this.#options.whenConnected(signal);
    const { era } = connection.handshake!;
    const begun = performance.now();
    // Any answer will do, a refusal too.
    if (era === "modern") await connection.request("server/discover", {}, { signal });
    else await connection.request("ping", undefined, { signal });
    return { era, latency: performance.now() - begun };
  }

  async #askAnew(
    config: HttpServerConfig,
    signal: AbortSignal,
    end: () => void,
  ): Promise<ProbeReport> {
    const connection = new Connection({ ...this.#options, host: NOBODY });
    const limit = new AbortController();
    const begun = performance.now();
    const greeted = this.#greet(connection, config, limit.signal);
    this.#cleared = this.#clear(connection, greeted, signal, limit).finally(end);
    this.#era = await until(greeted, signal);
    return { era: this.#era, latency: performance.now() - begun };
  }

  async #greet(
    connection: Connection,
    config: HttpServerConfig,
    signal: AbortSignal,
  ): Promise<Era> {
    const { name, clientInfo, log, httpClient } = this.#options;
    const userAgent = `${clientInfo.name}/${clientInfo.version}`;
    const secureContext = readSecureContext(name, config, this.#options.cwd);
    const { receiver } = connection;
    const common = { name, config, userAgent, log, receiver, secureContext, httpClient };
    const isOld = config.transport === "sse";
    const wire = isOld ? await SseWire.open(common, signal) : new HttpWire(common);
    connection.attach(wire);
    // Opened in the very moment in which it was given up.
    if (signal.aborted) await wire.close();
    const { era, protocolVersion } = this.#options.status();
    // Some servers refuse all versions but their own.
    const version = era === "legacy" ? protocolVersion : undefined;
    return greet(connection, isOld ? "legacy" : config.protocol, this.#era, version);
  }

  /**
   * Leaves nothing open, here or at the server: closing ends the session that an answer opened. One that comes after
   * nobody waits for it any more opens one too, so a request on its way is given some time.
   */
  async #clear(
    connection: Connection,
    greeted: Promise<Era>,
    signal: AbortSignal,
    limit: AbortController,
  ): Promise<void> {
    const closing = this.#closing.signal;
    if (!(await either(greeted, [signal, closing])))
      await either(greeted, [AbortSignal.timeout(LINGER_MS), closing]);
    limit.abort();
    await connection.close(abortError(signal));
  }
}

/** Settles as the promise does, or rejects when the signal aborts first. */
async function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (await either(promise, [signal])) return promise;
  throw abortError(signal);
}

/** Waits for the first of them: the end of the promise, good or bad (`true`), or the abort of a signal. Never rejects. */
function either(promise: Promise<unknown>, signals: readonly AbortSignal[]): Promise<boolean> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isSettled: boolean): void => {
      for (const signal of signals) signal.removeEventListener("abort", aborted);
      resolve(isSettled);
    };
    const aborted = (): void => end(false);
    const settled = (): void => end(true);
    void promise.then(settled, settled);
    for (const signal of signals) signal.addEventListener("abort", aborted, { once: true });
  });
}

/** What a probe rejects with: the failure, and in its `data.failed` how far the probe came. */
function toProbeFailure(thrown: unknown): GatewayError {
  const error = toGatewayError(thrown);
  return amendError(error, { data: { failed: error.data?.["failed"] ?? rungOf(error) } });
}

function rungOf(error: GatewayError): ProbeRung {
  const status = statusOf(error);
  if (status === 401 || status === 403) return "auth";
  // A redirect leads to another server; what would answer there is not known.
  if (status !== undefined) return status >= 300 && status < 400 ? "transport" : "handshake";
  const { code, data, cause } = error;
  // Faults.network carries what the socket said; a child's last connection has a state.
  const isNetwork = cause instanceof Error || data?.["cause"] !== undefined;
  if (code === "timeout" || code === "cancelled" || isNetwork) return "transport";
  return data?.["state"] !== undefined && data["state"] !== "failed" ? "transport" : "handshake";
}
