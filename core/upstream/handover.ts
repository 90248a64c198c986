import type { ManagedProvider } from "../server-type.ts";
import type { ProviderEvent, ProviderStatus } from "../provider.ts";

/** How a replaced server leaves. */
export interface Leave {
  /** Resolves when no call is on its way to it any more. */
  readonly arrived: Promise<unknown>;
  /** How long its calls may still run once it is replaced, in milliseconds. */
  readonly drainMs: number;
}

/** What a {@link Handover} works with. */
export interface HandoverOptions<T extends ManagedProvider> extends Leave {
  /** The server that a reload replaces. */
  readonly before: T;
  /** It told something that its successor has to tell in its place. */
  tell(event: ProviderEvent): void;
  /** It cannot serve any more. */
  lost(): void;
}

/** A replaced server that serves on until its successor can, so that neither a slow start nor a mistake takes a server away. */
export class Handover<T extends ManagedProvider> {
  readonly before: T;
  readonly #options: HandoverOptions<T>;
  readonly #unlisten: () => void;

  constructor(options: HandoverOptions<T>) {
    this.#options = options;
    this.before = options.before;
    this.#unlisten = options.before.on((event) => {
      if (event.type !== "state") options.tell(event);
      else if (!serves(event.status)) options.lost();
    });
  }

  /** What is shown of both: that one serves, and what keeps the other from it. */
  status({ lastError, nextRetryAt }: ProviderStatus): ProviderStatus {
    const { status } = this.before;
    if (lastError === undefined) return status;
    return {
      ...status,
      state: "degraded",
      reason: `The changed entry does not work: ${lastError.replace(/([^.?!])$/, "$1.")} The one before serves on.`,
      lastError,
      ...(nextRetryAt !== undefined && { nextRetryAt }),
    };
  }

  /** The successor is ready. Resolves when the replaced server is closed. */
  async end(): Promise<void> {
    this.#unlisten();
    await this.#options.arrived;
    await this.before.close(this.#options.drainMs);
  }

  /** Closes the replaced server after its calls in flight, at most after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#unlisten();
    await this.before.close(graceMs);
  }
}

/** Whether calls reach a server in this state. */
export function serves({ state }: ProviderStatus): boolean {
  return state === "ready" || state === "degraded";
}
