import type { Answer } from "../answer.ts";
import type { Catalogue, Provider, ProviderEvent, ProviderStatus } from "../provider.ts";
import type { ManagedProvider } from "../server-type.ts";
import type { Call } from "../types.ts";
import { Handover, type Leave } from "./handover.ts";

/** A server of a plugin's type that takes the place of another: what a plugin writes need not know of reloads. */
export class Successor implements ManagedProvider {
  readonly name: string;
  readonly timeoutOf?: NonNullable<Provider["timeoutOf"]>;
  readonly subscribe?: NonNullable<Provider["subscribe"]>;
  readonly unsubscribe?: NonNullable<Provider["unsubscribe"]>;
  readonly setLogLevel?: NonNullable<Provider["setLogLevel"]>;
  readonly rootsChanged?: NonNullable<Provider["rootsChanged"]>;
  readonly reconnect?: NonNullable<Provider["reconnect"]>;
  readonly probe?: NonNullable<Provider["probe"]>;
  readonly #server: ManagedProvider;
  readonly #handover: Handover;
  readonly #listeners = new Set<(event: ProviderEvent) => void>();

  constructor(server: ManagedProvider) {
    this.name = server.name;
    this.#server = server;
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
    // What a server does not offer must stay absent: callers look.
    if (server.timeoutOf) this.timeoutOf = (tool) => server.timeoutOf!(tool);
    if (server.subscribe) this.subscribe = (uri) => this.#offering("subscribe").subscribe!(uri);
    if (server.unsubscribe)
      this.unsubscribe = (uri) => this.#offering("unsubscribe").unsubscribe!(uri);
    if (server.setLogLevel) this.setLogLevel = (level, asker) => server.setLogLevel!(level, asker);
    if (server.rootsChanged)
      this.rootsChanged = () => {
        this.#handover.before?.rootsChanged?.();
        server.rootsChanged!();
      };
    if (server.reconnect) this.reconnect = () => server.reconnect!();
    if (server.probe) this.probe = (signal) => this.#offering("probe").probe!(signal);
  }

  get isApart(): boolean {
    return this.#server.isApart ?? false;
  }

  get dropped(): number {
    return this.#server.dropped ?? 0;
  }

  get catalogue(): Catalogue {
    return this.#serving.catalogue;
  }

  get status(): ProviderStatus {
    return this.#handover.status;
  }

  start(): void {
    this.#server.start();
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([this.#server.close(graceMs), this.#handover.close(graceMs)]);
  }

  request(call: Call): Promise<Answer> {
    return this.#serving.request(call);
  }

  on(listener: (event: ProviderEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Takes the place of another; see {@link Handover.replace}. */
  replace(leave: Leave): boolean {
    return this.#handover.replace(leave);
  }

  get #serving(): ManagedProvider {
    return this.#handover.before ?? this.#server;
  }

  /** The one that serves, if it offers something; else the new one, which does. */
  #offering(what: "subscribe" | "unsubscribe" | "probe"): ManagedProvider {
    return this.#serving[what] ? this.#serving : this.#server;
  }

  #emit(event: ProviderEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
