import type { Server } from "propylon";
import type { GatingService } from "propylon/plugins/gating";

/** How many servers and tools are switched on; everything is, without the gating plugin. */
export class Switches {
  readonly #servers: () => ReadonlyMap<string, Server>;
  readonly #gating: GatingService | undefined;

  constructor(servers: () => ReadonlyMap<string, Server>, gating: GatingService | undefined) {
    this.#servers = servers;
    this.#gating = gating;
  }

  servers(): number {
    return this.#enabled().length;
  }

  /** Tools of servers that are switched off do not count: nobody can call them. */
  tools(): number {
    const gating = this.#gating;
    return this.#enabled()
      .map(
        ([
          server,
          {
            catalogue: { tools },
          },
        ]) =>
          gating
            ? tools.filter(({ name }) => gating.isToolEnabled(server, name)).length
            : tools.length,
      )
      .reduce((sum, count) => sum + count, 0);
  }

  #enabled(): (readonly [string, Server])[] {
    return [...this.#servers()].filter(([server]) => this.#gating?.isServerEnabled(server) ?? true);
  }
}
