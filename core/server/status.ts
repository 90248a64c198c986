import type { Logger } from "pino";
import type { ServerEvent, ServerState, ServerStatus } from "../call/server.ts";

/** States in which a server does not serve as it should. */
const TROUBLE: ReadonlySet<ServerState> = new Set(["degraded", "backoff", "failed"]);

/** States of a server that is not down: it works, was not asked for yet, or was removed. */
const NOT_DOWN: ReadonlySet<ServerState> = new Set(["ready", "idle", "closed"]);

/**
 * Since when a server that enters a state now has been down. Attempts to connect again do not end an outage, so they do not
 * begin one: an operator asks when the server broke, not when it was last tried.
 *
 * @returns ISO 8601; `undefined` when it is not down
 * @example const status = { ...facts, state, since: now, downSince: downSince(before, state, now) };
 */
export function downSince(
  before: Pick<ServerStatus, "downSince">,
  state: ServerState,
  now: string,
): string | undefined {
  return NOT_DOWN.has(state) ? undefined : (before.downSince ?? now);
}

/** What a {@link StatusTracker} is made of. */
export interface StatusTrackerOptions {
  /** Name of the server. */
  readonly server: string;
  /** How it is reached, as in {@link ServerStatus}; the type, for a server of a plugin's type. */
  readonly transport: string;
  /** `gateway.log` of the plugin. */
  readonly log: Logger;
  /** What it begins as. Default `idle`; `ready` for a server that has nothing to connect to. */
  readonly state?: ServerState;
}

/** Why a server is in a state; see {@link StatusTracker.set}. */
export interface StatusDetails {
  /** As a sentence; needed for every state but `ready`. Default: none. */
  readonly reason?: string | undefined;
  /** Failed attempts in a row. Default 0. */
  readonly attempts?: number;
  /** Milliseconds until the next attempt. Default 0: there is none. */
  readonly wait?: number;
}

/**
 * How a server stands and who is told: the `status` and `on` of a `Provider` that a plugin writes, and the log lines that every
 * server has.
 *
 * @example
 * readonly #tracker = new StatusTracker({ server: name, transport: "phrases", log: gateway.log });
 * get status() { return this.#tracker.status; }
 * on(listener) { return this.#tracker.on(listener); }
 */
export class StatusTracker {
  readonly server: string;
  readonly log: Logger;
  /** What is spoken with the server, once known; in the status from the next {@link set} on. */
  protocolVersion: string | undefined;
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  #status: ServerStatus;

  constructor({ server, transport, log, state = "idle" }: StatusTrackerOptions) {
    this.server = server;
    this.log = log;
    this.#status = { state, since: new Date().toISOString(), attempts: 0, transport };
  }

  /** The state with why and since when. */
  get status(): ServerStatus {
    return this.#status;
  }

  /** Enters a state, writes it into the log and tells the listeners. A server that is `closed` stays so. */
  set(state: ServerState, { reason, attempts = 0, wait = 0 }: StatusDetails = {}): void {
    if (this.#status.state === "closed") return;
    const { protocolVersion } = this;
    const nextRetryAt = wait > 0 ? new Date(Date.now() + wait).toISOString() : undefined;
    this.announce({
      state,
      since: new Date().toISOString(),
      attempts,
      transport: this.#status.transport,
      ...(protocolVersion !== undefined && { protocolVersion }),
      ...(reason !== undefined && { reason }),
      ...(attempts > 0 && reason !== undefined && { lastError: reason }),
      ...(nextRetryAt !== undefined && { nextRetryAt }),
    });
  }

  /** Likewise with a status that tells more, such as the id of a process. */
  announce(status: ServerStatus): void {
    const before = this.#status.downSince ?? status.downSince;
    const down = downSince({ downSince: before }, status.state, status.since);
    this.#status = { ...status, ...(down !== undefined && { downSince: down }) };
    const { state, reason, nextRetryAt } = status;
    this.log[TROUBLE.has(state) ? "warn" : "info"](
      { server: this.server, state, reason, nextRetryAt },
      `server state: ${state}`,
    );
    this.emit({ type: "state", status: this.#status });
  }

  /** Registers a listener; the return value removes it. */
  on(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells the listeners. One that throws is written into the log and does not stop the others. */
  emit(event: ServerEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.log.error({ err: error, server: this.server }, "listener of a server failed");
      }
    }
  }
}
