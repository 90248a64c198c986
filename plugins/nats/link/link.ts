import type { NatsConnection } from "@nats-io/transport-node";
import { GatewayError } from "propylon";
import { backoffDelay, pause, within } from "propylon/kit";
import { connectionOptions } from "./authentication.ts";
import type { Followers, Jetstream, LinkOptions, LinkStatus, LinkLog } from "./linking.ts";
import { loadPackages, type Packages } from "./packages.ts";
import { forbiddenOf, refusedConnection, refusedProvision, type Refusal } from "./refusal.ts";

/** Earlier servers lose whole streams in a crash (Jepsen on 2.10.20 to 2.10.22). */
const FLOOR = "2.10.23";

/** Whether a server is below the floor. */
export function isOlder(version: string): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [index, least] of FLOOR.split(".").map(Number).entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** A stream that is not as it must be is looked at again after this, in milliseconds: somebody may have put it right. */
const AGAIN_MS = 10_000;
/** What is still to be said at the end may take this long, in milliseconds. */
const DRAIN_MS = 2_000;

/**
 * The connection to NATS: made, checked, and made again, as long as it takes.
 *
 * @example
 * const link = new Link(options, gateway.log, followers);
 * link.open();
 */
export class Link {
  readonly #options: LinkOptions;
  readonly #log: LinkLog;
  readonly #followers: Followers;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<() => void>();
  #status: LinkStatus = { isConnected: false, reason: "NATS is being connected to." };
  #connection: NatsConnection | undefined;
  #hasConnected = false;
  /** What to do about the reason. */
  #hint = "Check the address of NATS, and whether nats-server runs.";
  /** What was forbidden a short while ago; to look at the streams does not show that it is allowed by now. */
  #forbidden: GatewayError | undefined;
  /** Checks the streams, or joins the check under way. */
  #verify: (() => Promise<void>) | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions, log: LinkLog, followers: Followers) {
    this.#options = options;
    this.#log = log;
    this.#followers = followers;
  }

  get status(): LinkStatus {
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

  /**
   * Waits until it is connected for the first time.
   *
   * @param limit milliseconds
   * @throws {GatewayError} why it is not: at once where waiting does not help
   */
  async ready(limit: number): Promise<void> {
    const over = new AbortController();
    const look = (): void => {
      if (this.#status.fault) over.abort();
    };
    look();
    this.#listeners.add(look);
    void pause(limit, over.signal).then(() => over.abort());
    const isConnected = await this.whenConnected(over.signal);
    over.abort();
    this.#listeners.delete(look);
    if (isConnected) return;
    const { fault, reason = "NATS does not answer." } = this.#status;
    throw fault ?? new GatewayError("unavailable", reason, { hint: this.#hint });
  }

  /** Looks after the streams and the consumer again: something is gone. */
  verify(): void {
    if (this.#connection && !this.#connection.isClosed()) void this.#verify?.();
  }

  /** Connected, and yet nothing is stored, with the reason; `undefined`: it is again. */
  complain(reason: string | undefined): void {
    const { isConnected, server, reason: before } = this.#status;
    if (!isConnected || reason === before) return;
    if (reason !== undefined) {
      this.#log.error({}, reason);
      this.#followers.interrupted();
    }
    this.#set({
      isConnected,
      ...(server !== undefined && { server }),
      ...(reason !== undefined && { reason }),
    });
  }

  /** Not allowed what it cannot do without: looked at again like streams that are not as they must be. */
  async forbid(fault: GatewayError): Promise<void> {
    this.#forbidden = fault;
    this.#refuse({ reason: fault.message, hint: fault.hint, fault }, true);
    await pause(AGAIN_MS, this.#closing.signal);
    if (this.#forbidden !== fault) return;
    this.#forbidden = undefined;
    this.verify();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const connection = this.#connection;
    if (connection && !connection.isClosed()) {
      const isDown = !this.#status.isConnected;
      const drained = isDown ? connection.close() : connection.drain();
      await within(drained, DRAIN_MS);
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
        this.#refuse(refusedConnection(error, this.#options.nats));
      }
      await pause(backoffDelay(failures, this.#options.retry), signal);
    }
  }

  /** What was right once is not a fault of the config when it fails later: it is waited for, and what runs goes on. */
  #refuse({ reason, hint, fault }: Refusal, isFault = !this.#hasConnected): void {
    if (reason !== this.#status.reason)
      this.#log[fault ? "error" : "warn"]({ hint }, `${this.#options.lacking}: ${reason}`);
    if (hint !== undefined) this.#hint = hint;
    this.#set({ isConnected: false, reason, ...(fault && isFault && { fault }) });
  }

  /** Resolves when the connection is over. */
  async #connect({ core, jetstream }: Packages): Promise<void> {
    const { nats, name, reconnects, retry, ping } = this.#options;
    const connection = await this.#unlessClosing(
      core.connect({
        ...(await connectionOptions(core, nats)),
        name,
        reconnect: reconnects > 0,
        maxReconnectAttempts: reconnects,
        reconnectDelayHandler: () => backoffDelay(3, retry),
        pingInterval: ping,
        maxPingOut: 2,
        timeout: 5_000,
        // A stack for every request, in case it fails, is 8 % of a task; what is told is only the message.
        noAsyncTraces: true,
      }),
    );
    if (!connection) return;
    this.#connection = connection;
    const client = jetstream.jetstream(connection, { timeout: 5_000 });
    const manager = await client.jetstreamManager(false);
    const { createInbox, headers: createHeaders } = core;
    this.#followers.opened({ connection, client, manager, createHeaders, createInbox });
    this.#checkVersion(connection);
    let verified: Promise<void> | undefined;
    this.#verify = () =>
      (verified ??= this.#provide({ connection, client, manager }).finally(
        () => (verified = undefined),
      ));
    void this.#verify();
    await this.#follow(connection);
  }

  /** An attempt cannot be called off, and may take long: a close does not wait for it. */
  #unlessClosing(connecting: Promise<NatsConnection>): Promise<NatsConnection | undefined> {
    const { signal } = this.#closing;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        resolve(undefined);
        connecting.then((late) => late.close()).catch(() => {});
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      connecting.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
    });
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === "disconnect") {
        this.#log.warn({}, "the connection to NATS is lost");
        this.#set({ isConnected: false, reason: "The connection to NATS is lost." });
        this.#followers.interrupted();
      } else if (status.type === "reconnect") {
        this.#checkVersion(connection);
        void this.#verify?.();
      } else if (status.type === "error") {
        const forbidden = forbiddenOf(status.error);
        if (forbidden) this.#followers.forbidden(forbidden);
      }
    }
  }

  /** Until the streams are as they must be, or the connection drops, which begins it again. */
  async #provide({ connection, client, manager }: Jetstream): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.#followers.provide({ connection, client, manager });
        return this.#ready();
      } catch (error) {
        if (connection.isClosed()) return;
        const refusal = refusedProvision(error);
        this.#refuse(refusal, true);
        await pause(refusal.fault ? AGAIN_MS : backoffDelay(failures, this.#options.retry), signal);
      }
    }
  }

  #ready(): void {
    if (this.#forbidden) return;
    const { info } = this.#connection!;
    const server = `${info?.host}:${info?.port} ${info?.version}`;
    const { isConnected, reason } = this.#status;
    this.#hasConnected = true;
    if (!isConnected) this.#log.info({ server }, "connected to NATS");
    this.#set({
      isConnected: true,
      server,
      ...(isConnected && reason !== undefined && { reason }),
    });
  }

  #checkVersion({ info }: NatsConnection): void {
    const version = info?.version ?? "0";
    if (!isOlder(version)) return;
    this.#log.warn(
      { version },
      `nats-server ${version} is older than ${FLOOR}: a crash may lose streams. Update it.`,
    );
  }

  #set(status: LinkStatus): void {
    this.#status = status;
    for (const listener of this.#listeners) listener();
  }
}
