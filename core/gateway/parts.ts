import type { Logger } from "pino";
import type { Guesses } from "../http/guesses.ts";
import type { Leases } from "../plugin/leases.ts";
import type { PluginResolver } from "../loading/plugin-module.ts";
import type { ConfigFile } from "../loading/file.ts";
import type { HookEmitter } from "./emitter.ts";
import type { Generation } from "./generation.ts";
import type { KeptValues } from "./keep.ts";
import type { Backlog } from "../plugin/backlog.ts";
import type { Listener } from "../http/listener.ts";
import type { ScopeHost } from "./scope.ts";
import type { Sockets } from "../http/listeners.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import type { ServerPool } from "./pool.ts";
import type { Seat } from "./seat.ts";

/** What a gateway consists of; shared by what runs it, reloads it and shuts it down. */
export interface GatewayParts {
  readonly log: Logger;
  readonly resolver: PluginResolver;
  /** Folder that relative paths in the config start from. */
  readonly cwd: string;
  /** Where the config comes from; absent when the gateway was made from an object. */
  readonly file: ConfigFile | undefined;
  /** Whether it is only set up to be looked at. */
  readonly dryRun: boolean;
  readonly hooks: HookEmitter;
  readonly kept: KeptValues;
  /** In memory until the first config says where it is. */
  store: GatewayStore;
  /** Where it is one of several processes. */
  readonly seat: Seat | undefined;
  readonly pool: ServerPool;
  readonly sockets: Sockets;
  readonly leases: Leases;
  readonly guesses: Guesses;
  readonly backlog: Backlog;
  readonly scopeHost: ScopeHost;
  /** What goes on behind a reload: old generations on their way out, and what leaves with them. */
  readonly retiring: Set<Promise<void>>;
  /** Listeners that a reload took away; answers may still be in flight on them. */
  readonly leaving: Set<Listener>;
  /** Old generations whose calls may still be in flight, with the wait for these; `false` = the drain time is over. */
  readonly outgoing: Map<Generation, Promise<boolean>>;
  /** Resolves when the last change of the gateway as a whole has ended; see `inTurn`. */
  turn: Promise<unknown>;
  generation: Generation;
  listening: boolean;
  draining: boolean;
}
