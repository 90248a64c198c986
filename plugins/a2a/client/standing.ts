import type { PluginContext, ProviderEvent, ProviderStatus } from "propylon";

/** How a server stands, and who is told. */
export class Standing {
  readonly #server: string;
  readonly #log: PluginContext["log"];
  readonly #listeners = new Set<(event: ProviderEvent) => void>();
  #status: ProviderStatus = {
    state: "idle",
    since: new Date().toISOString(),
    attempts: 0,
    transport: "a2a",
  };
  /** What the agent is spoken to in, once known. */
  protocolVersion: string | undefined;

  constructor(server: string, log: PluginContext["log"]) {
    this.#server = server;
    this.#log = log;
  }

  get status(): ProviderStatus {
    return this.#status;
  }

  on(listener: (event: ProviderEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  emit(event: ProviderEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /**
   * @param attempts failed readings of the card in a row
   * @param wait milliseconds until the next one; 0 = none
   */
  become(state: ProviderStatus["state"], attempts: number, reason?: string, wait = 0): void {
    const { protocolVersion } = this;
    const nextRetryAt = wait > 0 ? new Date(Date.now() + wait).toISOString() : undefined;
    this.#status = {
      state,
      since: new Date().toISOString(),
      attempts,
      transport: "a2a",
      ...(protocolVersion !== undefined && { protocolVersion }),
      ...(reason !== undefined && { reason }),
      ...(attempts > 0 && reason !== undefined && { lastError: reason }),
      ...(nextRetryAt !== undefined && { nextRetryAt }),
    };
    const isTrouble = state === "failed" || state === "backoff" || state === "degraded";
    this.#log[isTrouble ? "warn" : "info"](
      { server: this.#server, state, reason, nextRetryAt },
      `server is ${state}`,
    );
    this.emit({ type: "state", status: this.#status });
  }
}
