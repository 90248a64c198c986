import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { isGatewayError, type GatewayError } from "propylon";
import { backoff, pause } from "../pause.ts";
import type { Settings } from "../settings.ts";
import type { TransportStatus } from "../transport.ts";
import { connectionOptions } from "./authentication.ts";
import { loadPackages, type Packages } from "./packages.ts";
import { provision } from "./streams.ts";

const RETRY = { initial: 500, max: 10_000 };
/** A stream that is not as it must be is looked at again after this, in milliseconds: somebody may have put it right. */
const AGAIN_MS = 10_000;
/** What is still to be said at the end may take this long, in milliseconds. */
const DRAIN_MS = 2_000;
/** Earlier servers lose whole streams in a crash (Jepsen on 2.10.20 to 2.10.22; design/reliability.md). */
const FLOOR = [2, 10, 23] as const;

/** A connection with what is used of it. */
export interface Opened {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly createHeaders: () => MsgHdrs;
  readonly createInbox: () => string;
}

/** Where a link tells what happens to it. */
export interface Said {
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
  error(data: object, message: string): void;
}

/** What follows from what happens. */
interface Followers {
  readonly opened: (opened: Opened) => void;
  readonly interrupted: () => void;
}

/** The connection to NATS: made, checked, and made again, as long as it takes. */
export class Link {
  readonly #settings: Settings;
  readonly #said: Said;
  readonly #followers: Followers;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #status: TransportStatus = {
    kind: "jetstream",
    isConnected: false,
    reason: "NATS is being connected to.",
  };
  #connection: NatsConnection | undefined;
  /** Checks the streams, or joins the check under way. */
  #verify: (() => Promise<void>) | undefined;
  #verified: Promise<void> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(settings: Settings, said: Said, followers: Followers) {
    this.#settings = settings;
    this.#said = said;
    this.#followers = followers;
  }

  get status(): TransportStatus {
    return this.#status;
  }

  onStatus(listener: () => void): void {
    this.#listeners.add(listener);
  }

  open(): void {
    this.#running = this.#run();
  }

  /** Whether it is connected now, once it is or the signal aborts. */
  async whenConnected(signal: AbortSignal): Promise<boolean> {
    if (this.#status.isConnected || signal.aborted) return !signal.aborted;
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!this.#status.isConnected && !signal.aborted) return;
        this.#listeners.delete(look);
        signal.removeEventListener("abort", look);
        resolve();
      };
      this.#listeners.add(look);
      signal.addEventListener("abort", look);
    });
    return !signal.aborted;
  }

  /** Looks after the streams and the consumer again: something is gone. */
  verify(): void {
    if (this.#connection && !this.#connection.isClosed()) void this.#verify?.();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const connection = this.#connection;
    if (connection && !connection.isClosed()) {
      const isDown = !this.#status.isConnected;
      const drained = isDown ? connection.close() : connection.drain();
      const done = new AbortController();
      await Promise.race([drained.catch(() => {}), pause(DRAIN_MS, done.signal)]);
      done.abort();
      await connection.close().catch(() => {});
    }
    await this.#running;
    this.#set({ isConnected: false, reason: "It is closed." });
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.#connect(await loadPackages());
        failures = 0;
        this.#set({ isConnected: false, reason: "The connection to NATS was closed." });
      } catch (error) {
        const fault = isGatewayError(error) ? { fault: error } : {};
        const reason = isGatewayError(error)
          ? error.message
          : `NATS cannot be reached: ${words(error)}.`;
        if (reason !== this.#status.reason) this.#said.warn({ reason }, "no connection to NATS");
        this.#set({ isConnected: false, reason, ...fault });
      }
      await pause(backoff(failures, RETRY), signal);
    }
  }

  /** Resolves when the connection is over. */
  async #connect({ core, jetstream }: Packages): Promise<void> {
    const { name, nats } = this.#settings;
    const connection = await core.connect({
      ...(await connectionOptions(core, nats!)),
      name: `propylon-sidecar ${name}`,
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      reconnectDelayHandler: () => backoff(3, RETRY),
      pingInterval: 10_000,
      maxPingOut: 2,
      timeout: 5_000,
      // A stack for every request, in case it fails, is 8 % of a task; what is told is only the message.
      noAsyncTraces: true,
    });
    this.#connection = connection;
    if (this.#closing.signal.aborted) return connection.close();
    const client = jetstream.jetstream(connection, { timeout: 5_000 });
    const manager = await client.jetstreamManager(false);
    const { createInbox, headers: createHeaders } = core;
    this.#followers.opened({ connection, client, manager, createHeaders, createInbox });
    this.#checkVersion(connection);
    this.#verify = () =>
      (this.#verified ??= this.#provide(manager).finally(() => (this.#verified = undefined)));
    void this.#verify();
    await this.#follow(connection);
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === "disconnect") {
        this.#said.warn({}, "the connection to NATS is lost");
        this.#set({ isConnected: false, reason: "The connection to NATS is lost." });
        this.#followers.interrupted();
      } else if (type === "reconnect") {
        this.#checkVersion(connection);
        void this.#verify?.();
      }
    }
  }

  /** Until the streams are as they must be, or the connection drops, which begins it anew. */
  async #provide(manager: JetStreamManager): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await provision(manager, this.#settings);
        return this.#ready();
      } catch (error) {
        if (this.#connection?.isClosed() ?? true) return;
        const fault: GatewayError | undefined = isGatewayError(error) ? error : undefined;
        const reason = fault?.message ?? `JetStream does not answer: ${words(error)}.`;
        if (reason !== this.#status.reason)
          this.#said[fault ? "error" : "warn"]({ hint: fault?.hint }, reason);
        this.#set({ isConnected: false, reason, ...(fault && { fault }) });
        await pause(fault ? AGAIN_MS : backoff(failures, RETRY), signal);
      }
    }
  }

  #ready(): void {
    const { info } = this.#connection!;
    const server = `${info?.host}:${info?.port} ${info?.version}`;
    if (!this.#status.isConnected) this.#said.info({ server }, "connected to NATS");
    this.#set({ isConnected: true, server });
  }

  #checkVersion({ info }: NatsConnection): void {
    const version = info?.version ?? "0";
    if (!isOlder(version)) return;
    this.#said.warn(
      { version },
      `nats-server ${version} is older than ${FLOOR.join(".")}: a crash may lose streams. Update it.`,
    );
  }

  #set(status: Omit<TransportStatus, "kind">): void {
    this.#status = { kind: "jetstream", ...status };
    for (const listener of this.#listeners) listener();
  }
}

/** Whether a server is below the floor. */
export function isOlder(version: string): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [index, least] of FLOOR.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** The client's own words name no credential. */
function words(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, "") : "unknown reason";
}
