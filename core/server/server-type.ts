import type { Catalogue, Server } from "./server.ts";

/**
 * A kind of server that a plugin brings: entries of `servers` with this `type`.
 * @typeParam C an entry as the schema of the type in `serverTypes` of the plugin's definition made it
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
 * changed is made beside the one before, which gets the calls until the status of the new one is `ready` or `degraded`.
 */
export interface ManagedServer extends Server {
  /** Starts connecting; returns at once. */
  start(): void;
  /** Ends it after the calls in flight, at most after that many milliseconds. May be called again, with less. */
  close(graceMs: number): Promise<void>;
}
