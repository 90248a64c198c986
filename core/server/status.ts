import type { Logger } from "pino";
import type { ProviderEvent, ProviderState, ProviderStatus } from "./server.ts";

/** States in which a server does not serve as it should. */
const TROUBLE: ReadonlySet<ProviderState> = new Set(["degraded", "backoff", "failed"]);

/** What a {@link Standing} is made of. */
export interface StandingOptions {
  /** Name of the server. */
  readonly server: string;
  /** How it is reached, as in {@link ProviderStatus}; the type, for a server of a plugin's type. */
  readonly transport: string;
  /** `gateway.log` of the plugin. */
  readonly log: Logger;
  /** What it begins as. Default `idle`; `ready` for a server that has nothing to connect to. */
  readonly state?: ProviderState;
}

/** Why a server is in a state; see {@link Standing.become}. */
export interface Circumstances {
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
 * readonly #standing = new Standing({ server: name, transport: "phrases", log: gateway.log });
 * get status() { return this.#standing.status; }
 * on(listener) { return this.#standing.on(listener); }
 */
export class Standing {
  readonly server: string;
  readonly log: Logger;
  /** What is spoken with the server, once known; in the status from the next {@link become} on. */
  protocolVersion: string | undefined;
  readonly #listeners = new Set<(event: ProviderEvent) => void>();
  #status: ProviderStatus;

  constructor({ server, transport, log, state = "idle" }: StandingOptions) {
    this.server = server;
    this.log = log;
    this.#status = { state, since: new Date().toISOString(), attempts: 0, transport };
  }

  /** The state with why and since when. */
  get status(): ProviderStatus {
    return this.#status;
  }

  /** Enters a state, writes it into the log and tells the listeners. A server that is `closed` stays so. */
  become(state: ProviderState, { reason, attempts = 0, wait = 0 }: Circumstances = {}): void {
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
  announce(status: ProviderStatus): void {
    this.#status = status;
    const { state, reason, nextRetryAt } = status;
    this.log[TROUBLE.has(state) ? "warn" : "info"](
      { server: this.server, state, reason, nextRetryAt },
      `server is ${state}`,
    );
    this.emit({ type: "state", status });
  }

  /** Registers a listener; the return value removes it. */
  on(listener: (event: ProviderEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells the listeners. One that throws is written into the log and keeps nothing from the others. */
  emit(event: ProviderEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.log.error({ err: error, server: this.server }, "listener of a server failed");
      }
    }
  }
}
