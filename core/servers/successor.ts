import type { Logger } from "pino";
import type { Provider, ProviderEvent, ProviderStatus } from "../server/server.ts";
import type { ManagedProvider } from "../server/server-type.ts";
import { Handover, type Leave } from "./handover.ts";
import { PluginProvider } from "./plugin-provider.ts";

/** A server of a plugin's type in its place, which may have been another's: what a plugin writes need not know of reloads. */
export class Successor extends PluginProvider<ManagedProvider> implements ManagedProvider {
  readonly #handover: Handover;
  readonly #listeners = new Set<(event: ProviderEvent) => void>();

  constructor(server: ManagedProvider, log: Logger) {
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

  override get status(): ProviderStatus {
    return this.#handover.status;
  }

  start(): void {
    this.server.start();
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([this.server.close(graceMs), this.#handover.close(graceMs)]);
  }

  override on(listener: (event: ProviderEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Takes the place of another; see {@link Handover.replace}. */
  replace(leave: Leave): boolean {
    return this.#handover.replace(leave);
  }

  protected override get serving(): Provider {
    return this.#handover.before ?? this.server;
  }

  #emit(event: ProviderEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
