import type { Logger } from "pino";
import type { Guesses } from "../http/auth/guesses.ts";
import type { Leases } from "../http/auth/leases.ts";
import { compileApp } from "../http/compile-app.ts";
import type { PluginResolver } from "../config/plugin-module.ts";
import { compile } from "./compile.ts";
import type { ConfigFile } from "../config/file.ts";
import type { Config } from "../config/config.ts";
import type { HookEmitter } from "../plugin/emitter.ts";
import { Generation } from "./generation.ts";
import type { KeptValues } from "../plugin/keep.ts";
import type { Backlog } from "../http/backlog.ts";
import type { Listener } from "../http/listener.ts";
import type { Abortion } from "../call/pipeline.ts";
import { InFlightSet } from "../call/cancellation.ts";
import type { RegisteredCheck } from "../plugin/plugin-checks.ts";
import type { ScopeHost } from "../plugin/scope.ts";
import { defaultListener, type Sockets } from "../http/listeners.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import type { ServerPool } from "../server/pool.ts";
import type { WorkerSeat } from "../workers/worker-seat.ts";

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
  /** All that changes the gateway as a whole waits here for its turn. */
  readonly queue: Queue;
  readonly hooks: HookEmitter;
  readonly kept: KeptValues;
  /** In memory until the first config says where it is. */
  store: GatewayStore;
  /** Where it is one of several processes. */
  readonly seat: WorkerSeat | undefined;
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
  generation: Generation;
  listening: boolean;
  draining: boolean;
}

/** What serves before the first config is applied: nothing. */
export function emptyGeneration(config: Config, log: Logger): Generation {
  const running = new InFlightSet<Abortion>();
  const nothing = config.with({ servers: {}, endpoints: {}, insecure: true });
  return new Generation({
    number: 0,
    written: config.values,
    config: config.values,
    places: config.places,
    scopes: [],
    compiled: compile({ config: nothing, scopes: [], servers: new Map(), running, log }),
    running,
  });
}

/** Points every open listener at the current generation. */
export function serveGeneration(parts: GatewayParts): void {
  const { generation, sockets, hooks, leases, log, seat } = parts;
  const { compiled, config } = generation;
  const checks = generation.scopes.flatMap((scope) => scope.checks);
  sockets.swap((name) =>
    compileApp({
      name: config.name,
      routes: compiled.routes.get(name) ?? [],
      endpoints: compiled.endpointServer.handlersOf(name),
      sockets: compiled.sockets.get(name) ?? new Map(),
      page: name === defaultListener(config) ? compiled.page : undefined,
      checks: [...checks, ...storeChecks(parts), ...(seat ? [seat.check] : [])],
      guard: compiled.guard,
      bodyLimit: config.limits.body,
      maxDepth: config.limits.depth,
      leases,
      log,
      onMutation: (mutation) => hooks.emit("mutation", mutation),
    }),
  );
}

/** Whether the store has been away for too long; a gateway whose store is its own memory says nothing of it. */
function storeChecks({ store, generation }: GatewayParts): readonly RegisteredCheck[] {
  const { connection } = store;
  if (!connection.driver.durable) return [];
  const ask = (): string | undefined =>
    connection.awayFor > generation.config.timeouts.store
      ? "The store does not answer."
      : undefined;
  return [{ name: "store", ask }];
}

/** One piece of work at a time, each begun when the one before has ended, however it ended. */
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as the work does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
