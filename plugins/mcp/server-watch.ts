import type { Server, ServerEvent } from "propylon";

/** Listens to a changing set of servers. */
export class ServerWatch {
  readonly #listener: (server: Server, event: ServerEvent) => void;
  readonly #watched = new Map<Server, () => void>();

  constructor(listener: (server: Server, event: ServerEvent) => void) {
    this.#listener = listener;
  }

  /** Watches exactly these servers from now on. */
  set(servers: readonly Server[]): void {
    const wanted = new Set(servers);
    for (const [server, stop] of this.#watched) {
      if (wanted.has(server)) continue;
      stop();
      this.#watched.delete(server);
    }
    for (const server of wanted) {
      if (!this.#watched.has(server))
        this.#watched.set(
          server,
          server.on((event) => this.#listener(server, event)),
        );
    }
  }
}
