import type { PluginContext, Principal } from "propylon";

/** Who has something of principals and sessions that is to go with them. */
export interface Keeper {
  /** An MCP session is over. @param key as in `peer.key` of its calls */
  sessionEnded(key: string): void;
  /** These principals may no longer use the gateway. */
  evicted(match: (principal: Principal) => boolean): void;
}

/** Tells servers of sessions that are over, and of principals that were sent away. */
export class Endings {
  readonly #keepers = new Set<Keeper>();

  constructor(gateway: Pick<PluginContext, "hook">) {
    gateway.hook("session:close", (_endpoint, key) => {
      for (const keeper of this.#keepers) keeper.sessionEnded(key);
    });
    gateway.hook("principal:evict", (match) => {
      for (const keeper of this.#keepers) keeper.evicted(match);
    });
  }

  add(keeper: Keeper): void {
    this.#keepers.add(keeper);
  }

  remove(keeper: Keeper): void {
    this.#keepers.delete(keeper);
  }
}
