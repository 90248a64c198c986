import type { Logger } from "pino";
import type { Server, ServerEvent, ServerStatus } from "../server/server.ts";
import type { ManagedServer } from "../server/server-type.ts";
import { Handover, type Leave } from "./handover.ts";
import { GuardedServer } from "../server/guarded-server.ts";

/** A server of a plugin's type in its place, which may have been another's: what a plugin writes need not know of reloads. */
export class Successor extends GuardedServer<ManagedServer> implements ManagedServer {
  readonly #handover: Handover;
  readonly #listeners = new Set<(event: ServerEvent) => void>();

  constructor(server: ManagedServer, log: Logger) {
    super(server, log);
    this.#handover = new Handover({
      status: () => server.status,
      catalogue: () => this.catalogue,
      announce: (status) => this.#emit({ type: "state", status }),
      tell: (event) => this.#emit(event),
      tookOver: () => {},
    });
    server.on((event) => {
      if (event.type === "state") this.#handover.changed();
      else this.#emit(event);
    });
  }

  override get status(): ServerStatus {
    return this.#handover.status;
  }

  start(): void {
    this.server.start();
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([this.server.close(graceMs), this.#handover.close(graceMs)]);
  }

  override on(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Takes the place of another; see {@link Handover.replace}. */
  replace(leave: Leave): boolean {
    return this.#handover.replace(leave);
  }

  protected override get serving(): Server {
    return this.#handover.before ?? this.server;
  }

  #emit(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
