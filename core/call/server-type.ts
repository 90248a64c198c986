import type { Catalogue, Server } from "./server.ts";

/**
 * A kind of server that a plugin brings: entries of `servers` with this `type`.
 * @typeParam C an entry as the schema of the type in `serverTypes` of the plugin's definition made it
 *
 * @example
 * const cards: ServerType<Options> = { create: (name, options) => new CardServer(name, options) };
 * gateway.add(ServerTypes, { type: "card", ...cards });
 */
export interface ServerType<C = unknown> {
  /**
   * Makes the server; must not open anything (that is for `start`).
   * @param before lists of the server it replaces, to show until its own arrive
   */
  create(name: string, config: C, before?: Catalogue): ManagedServer;
}

/**
 * A server whose life the gateway looks after: one entry of `servers`, kept through reloads while it does not change. One that is
 * changed is made beside the previous one, which gets the calls until the status of the new one is `ready` or `degraded`.
 *
 * @example const create = (name: string, options: Options): ManagedServer => new CardServer(name, options);
 */
export interface ManagedServer extends Server {
  /** Starts connecting; returns at once. */
  start(): void;
  /** Ends it after the calls in flight, at most after that many milliseconds. May be called again, with less. */
  close(graceMs: number): Promise<void>;
  /**
   * Takes over what clients watch at the server in whose place it is, now that it serves.
   * @param before as its own type made it
   */
  inherit?(before: Server): void;
}
