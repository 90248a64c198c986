import type { Logger } from "pino";
import type { Server, ServerEvent, ServerStatus } from "./server.ts";
import type { ManagedServer } from "./server-type.ts";
import { GuardedServer } from "./guarded-server.ts";
import { Handover, type Leave } from "./handover.ts";
import { StatusTracker } from "./status.ts";

/** A server of an entry in its place, which may have been another's: what makes servers need not know of reloads. */
export class Successor extends GuardedServer<ManagedServer> implements ManagedServer {
  readonly #tracker: StatusTracker;
  readonly #handover: Handover;

  constructor(server: ManagedServer, log: Logger) {
    super(server, log);
    const { name, status } = server;
    this.#tracker = new StatusTracker({ server: name, transport: status.transport, log });
    this.#handover = new Handover({
      status: () => server.status,
      catalogue: () => this.catalogue,
      announce: (told) => this.#announce(told),
      tell: (event) => this.#tracker.emit(event),
      tookOver: (before) => this.#inherit(before),
    });
    server.on((event) => {
      if (event.type === "state") this.#handover.changed();
      else this.#tracker.emit(event);
    });
  }

  override get status(): ServerStatus {
    return this.#handover.status;
  }

  start(): void {
    this.server.start();
  }

  async close(graceMs: number): Promise<void> {
    this.serving = this.server;
    await Promise.all([this.server.close(graceMs), this.#handover.close(graceMs)]);
  }

  override on(listener: (event: ServerEvent) => void): () => void {
    return this.#tracker.on(listener);
  }

  /** Takes the place of another; see {@link Handover.replace}. */
  replace(leave: Leave): boolean {
    const isNeeded = this.#handover.replace(leave);
    this.serving = this.#handover.before ?? this.server;
    return isNeeded;
  }

  /** The server wrote how it stands itself; that another serves in its place is news. */
  #announce(status: ServerStatus): void {
    if (this.#handover.before) this.#tracker.announce(status);
    else this.#tracker.emit({ type: "state", status });
  }

  #inherit(before: ManagedServer): void {
    this.serving = this.server;
    // The one before may never have served itself: what is watched is watched where the calls went.
    this.server.inherit?.(before instanceof Successor ? before.#answering : before);
  }

  get #answering(): Server {
    const { serving } = this;
    return serving instanceof Successor ? serving.#answering : serving;
  }
}
