import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { GatewayConfig, ListenerConfig } from "../config/schema.ts";
import type { AppInput, Custody, ListenerApp } from "./app.ts";
import { createEdge } from "./guard.ts";
import { readinessOf } from "../plugin/plugin-checks.ts";
import type { Router } from "./routes.ts";
import { Listener } from "./listener.ts";

/** Where a listener can be reached. */
export interface Address {
  readonly url: string;
  readonly port: number;
}

interface OpenListener extends Address {
  readonly listener: Listener;
  readonly config: ListenerConfig;
}

/** Listeners opened beside the running ones, waiting for the swap. */
export interface SocketPlan {
  /** Takes the new listeners in and returns those to be closed once their calls are done. */
  commit(): readonly Listener[];
  /** Closes the new listeners. */
  abort(): Promise<void>;
}

/** The gateway's listeners by name. A reload opens the new ones before it closes the old, so no port is lost on the way. */
export class Sockets {
  readonly #log: Logger;
  readonly #shared: Custody;
  #open = new Map<string, OpenListener>();
  #leaving = false;

  constructor(log: Logger, shared: Custody) {
    this.#log = log;
    this.#shared = shared;
  }

  /** Addresses of the open listeners. */
  get addresses(): ReadonlyMap<string, Address> {
    return new Map([...this.#open].map(([name, { url, port }]) => [name, { url, port }]));
  }

  /** Listeners that are open. */
  get all(): readonly Listener[] {
    return [...this.#open.values()].map(({ listener }) => listener);
  }

  /** Gives every open listener what it serves from now on. */
  swap(inputOf: (name: string) => AppInput): void {
    for (const [name, { listener }] of this.#open) listener.swap(compileApp(inputOf(name)));
  }

  /**
   * Opens what the config has and is not open yet. A listener that only changes its port is opened again beside the old one.
   *
   * @throws {GatewayError} `io_error` when a port cannot be had; what was opened before it is closed again
   */
  async plan(config: GatewayConfig): Promise<SocketPlan> {
    const fresh = new Map<string, OpenListener>();
    const abort = async (): Promise<void> =>
      void (await Promise.allSettled([...fresh.values()].map(({ listener }) => listener.close(0))));
    try {
      for (const [name, wanted] of Object.entries(config.listeners)) {
        const old = this.#open.get(name);
        if (old && isDeepStrictEqual(old.config, wanted)) continue;
        if (!needsRestart(old, wanted)) fresh.set(name, await this.#openOne(name, wanted, config));
      }
    } catch (error) {
      await abort();
      throw error;
    }
    return { abort, commit: () => this.#commit(fresh, config) };
  }

  /** Settings of a config that only a restart applies, as config paths. */
  restartRequired({ listeners }: GatewayConfig): readonly string[] {
    return Object.entries(listeners)
      .filter(([name, wanted]) => needsRestart(this.#open.get(name), wanted))
      .map(([name]) => `listeners.${name}`);
  }

  #commit(
    fresh: ReadonlyMap<string, OpenListener>,
    { listeners }: GatewayConfig,
  ): readonly Listener[] {
    const leaving = [...this.#open].filter(
      ([name]) => fresh.has(name) || !Object.hasOwn(listeners, name),
    );
    const merged = new Map([...this.#open, ...fresh]);
    this.#open = new Map(Object.keys(listeners).map((name) => [name, merged.get(name)!]));
    return leaving.map(([, { listener }]) => listener);
  }

  async #openOne(
    name: string,
    config: ListenerConfig,
    { limits, publicUrl }: GatewayConfig,
  ): Promise<OpenListener> {
    const listener = new Listener(name, config, {
      limits,
      log: this.#log,
      ...this.#shared,
      ...(publicUrl !== undefined && { publicUrl }),
    });
    const { url, port } = await listener.open();
    if (this.#leaving) listener.giveNotice();
    return { listener, config, url, port };
  }

  /** Says on every listener, and on those that a reload opens, that it will be gone. */
  giveNotice(): void {
    this.#leaving = true;
    for (const listener of this.all) listener.giveNotice();
  }

  /** Refuses new work on every listener. */
  drain(): void {
    for (const listener of this.all) listener.drain();
  }

  /** Closes every listener. */
  async close(graceMs: number): Promise<PromiseSettledResult<void>[]> {
    const closing = this.all.map((listener) => listener.close(graceMs));
    this.#open = new Map();
    return Promise.allSettled(closing);
  }
}

/** What changes at a listener while its port stays cannot be opened beside it. */
function needsRestart(old: OpenListener | undefined, wanted: ListenerConfig): boolean {
  if (!old || isDeepStrictEqual(old.config, wanted)) return false;
  return old.port === wanted.port || old.config.port === wanted.port;
}

/** Compiles what one listener serves. The router is loaded with the first route or request: MCP alone needs none. */
function compileApp(input: AppInput): ListenerApp {
  const { routes, sockets, endpoints, page, checks, guard } = input;
  let router: Router | undefined;
  let loading: Promise<Router> | undefined;
  const load = (): Promise<Router> =>
    (loading ??= import("./routes.ts").then(({ createRouter }) => (router = createRouter(input))));
  const closed = new Set(
    routes.filter((each) => each.options.cors === false).map(({ path }) => path),
  );
  // A failure shows in the request that meets it.
  if (routes.length > 0) load().catch(() => {});
  return {
    endpoints,
    page,
    fetch: async (request) => (await load()).fetch(request),
    authenticate: createEdge(guard.authenticator),
    // The router takes a path with a slash at its end for the same.
    isClosed: (path) => closed.has(path.replace(/\/$/, "")),
    direct: (req, path) => router?.direct?.(req, path),
    checks: () => readinessOf(checks),
    sockets:
      sockets.size === 0
        ? undefined
        : {
            has: ({ plugin, path }) => sockets.get(path)?.plugin === plugin,
            admit: async (req) => (await load()).admit(req),
          },
  };
}
