import type { Logger } from "pino";
import type { Server, ServerEvent, ServerStatus } from "../call/server.ts";
import type { ManagedServer } from "../call/server-type.ts";
import { GuardedServer } from "./guarded-server.ts";
import { StatusTracker } from "./status.ts";
import { LISTS } from "../call/catalogue.ts";

/** A server that a reload replaces, and how it leaves. */
export interface Leave {
  readonly before: ManagedServer;
  /** Resolves when no call is on its way to it any more. */
  readonly arrived: Promise<unknown>;
  /** How long its calls may still run once it is replaced, in milliseconds. */
  readonly drainMs: number;
  /** Closes it after its calls in flight, at most after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/**
 * A server of an entry in its place, which may have been another's: that one serves on until the new one can, so that neither a slow
 * start nor a mistake takes a server out of use. What makes servers need not know of reloads.
 */
export class Successor extends GuardedServer<ManagedServer> implements ManagedServer {
  readonly #tracker: StatusTracker;
  /** The one that serves in place of the new one, while that is needed. */
  #leave: Leave | undefined;
  /** The same while its calls run out. */
  #leaving: Leave | undefined;
  #unlisten = (): void => {};
  #told: ServerStatus | undefined;

  constructor(server: ManagedServer, log: Logger) {
    super(server, log);
    const { name, status } = server;
    this.#tracker = new StatusTracker({ server: name, transport: status.transport, log });
    server.on((event) => {
      if (event.type === "state") this.#changed();
      else this.#tracker.emit(event);
    });
  }

  /** What is shown of both: that one serves, and what keeps the other from it. */
  override get status(): ServerStatus {
    const own = this.server.status;
    return this.#leave ? statusOfBoth(this.#leave.before, own) : own;
  }

  start(): void {
    this.server.start();
  }

  /** Closes the replaced server with the new one. */
  async close(graceMs: number): Promise<void> {
    this.serving = this.server;
    const closed = this.server.close(graceMs);
    const leaves = [this.#leave, this.#leaving].filter((leave) => leave !== undefined);
    this.#unlisten();
    this.#leave = undefined;
    await Promise.all([closed, ...leaves.map((leave) => leave.close(graceMs))]);
  }

  override on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  /**
   * Takes the place of another, which serves on until the new one is ready and is the new one's to close from then on.
   * @returns whether it does: one that does not serve, or whose successor is ready, can be closed at once
   */
  replace(leave: Leave): boolean {
    const { before } = leave;
    const isNeeded = isComing(this.server.status) && serves(before.status);
    if (!isNeeded) this.#inherit(before);
    else {
      this.#leave = leave;
      this.serving = before;
      this.#unlisten = before.on((event) => {
        if (event.type !== "state") this.#tracker.emit(event);
        else if (!serves(event.status)) this.#takeOver();
      });
    }
    return isNeeded;
  }

  /** The new server is in another state. */
  #changed(): void {
    if (serves(this.server.status)) this.#takeOver();
    const { status } = this;
    // While another serves, attempts to connect are not news.
    const isNews = status.state !== this.#told?.state || status.reason !== this.#told.reason;
    if (isNews || !this.#leave) this.#announce(status);
  }

  #takeOver(): void {
    const leave = this.#leave;
    if (!leave) return;
    const { hash } = this.catalogue;
    this.#unlisten();
    this.#leave = undefined;
    this.#leaving = leave;
    this.#inherit(leave.before);
    // It may have been lost, and then the new one does not serve yet.
    if (!serves(this.status)) this.#announce(this.status);
    if (this.catalogue.hash !== hash) this.#tracker.emit({ type: "changed", lists: LISTS });
    void leave.arrived
      .then(() => leave.close(leave.drainMs))
      .finally(() => (this.#leaving = undefined));
  }

  /** The server wrote how it stands itself; that another serves in its place is news. */
  #announce(status: ServerStatus): void {
    this.#told = status;
    if (this.#leave) this.#tracker.announce(status);
    else this.#tracker.emit({ type: "state", status });
  }

  #inherit(before: ManagedServer): void {
    this.serving = this.server;
    // The previous one may never have served itself: what is watched is watched where the calls went.
    this.server.inherit?.(before instanceof Successor ? before.#answering : before);
  }

  get #answering(): Server {
    const { serving } = this;
    return serving instanceof Successor ? serving.#answering : serving;
  }
}

function statusOfBoth(
  { status }: ManagedServer,
  { state, reason, lastError = state === "failed" ? reason : undefined, nextRetryAt }: ServerStatus,
): ServerStatus {
  if (lastError === undefined) return status;
  return {
    ...status,
    state: "degraded",
    reason: `The changed entry does not work: ${lastError.replace(/([^.?!])$/, "$1.")} The previous one serves on.`,
    lastError,
    ...(nextRetryAt !== undefined && { nextRetryAt }),
  };
}

/** Whether calls reach a server in this state. */
function serves({ state }: ServerStatus): boolean {
  return state === "ready" || state === "degraded";
}

/** Whether a server that was started does not serve yet. One that stays idle connects when it is called. */
function isComing(status: ServerStatus): boolean {
  return !serves(status) && status.state !== "idle";
}
