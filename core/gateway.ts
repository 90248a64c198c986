import type { Logger } from "pino";
import type { Answer } from "./answer.ts";
import type { PluginResolver } from "./host/build.ts";
import { parseConfig } from "./config/parse.ts";
import type { GatewayConfig, GatewayConfigInput } from "./config/schema.ts";
import { describeGateway, type GatewayDescription } from "./host/describe.ts";
import { HookEmitter } from "./host/emitter.ts";
import { GatewayError, toGatewayError } from "./errors.ts";
import { Faces } from "./host/faces.ts";
import type { GatewayHooks, ReloadReport } from "./hooks.ts";
import { callLocally, createEndpointHost, createScopeHost, reportEvent } from "./host/hosts.ts";
import { KeptValues } from "./host/keep.ts";
import { createLogger } from "./log.ts";
import { renderMetrics } from "./host/metrics.ts";
import { emptyGeneration, serveGeneration, type GatewayParts } from "./host/parts.ts";
import type { AnyPlugin } from "./plugin.ts";
import type { Provider } from "./provider.ts";
import { applyConfig, reloadError } from "./host/reload.ts";
import { shutDown } from "./host/shutdown.ts";
import { Sockets, type Address } from "./host/sockets.ts";
import type { CallInput } from "./types.ts";
import { UpstreamPool } from "./upstream/pool.ts";
import { VERSION } from "./version.ts";

/** What `createGateway` takes besides the config. */
export interface GatewayOptions {
  /** Plugins at hand, by their key in the config's `plugins`; looked at before {@link resolvePlugin}. */
  readonly plugins?: Readonly<Record<string, AnyPlugin>>;
  /** Directory that relative paths in the config start from; default: the process's own. */
  readonly cwd?: string;
  /** Default: made from the config's `log`. */
  readonly log?: Logger;
  /** Finds the plugin of a key that {@link plugins} lacks, e.g. by importing a file. */
  readonly resolvePlugin?: (key: string) => Promise<AnyPlugin>;
}

/**
 * Makes a gateway and applies its first config: plugins are set up and started, servers are being connected. No port is
 * open until {@link Gateway.listen}.
 *
 * @throws {GatewayError} saying what is wrong with the config; whatever was started is undone
 */
export async function createGateway(
  config: GatewayConfigInput | GatewayConfig,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const parsed = parseConfig(config);
  const gateway = new Gateway(parsed, options, options.log ?? (await createLogger(parsed.log)));
  try {
    await gateway.apply(parsed);
    return gateway;
  } catch (error) {
    await gateway.close({ grace: 0 }).catch(() => {});
    throw error;
  }
}

/** The running gateway: one config applied at a time, every call through one pipeline. Made by {@link createGateway}. */
export class Gateway {
  readonly #parts: GatewayParts;
  #queue: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Failed reloads that were told. */
  readonly #told = new WeakSet();

  /** Use {@link createGateway}. */
  constructor(config: GatewayConfig, options: GatewayOptions, log: Logger) {
    const parts = (): GatewayParts => this.#parts;
    const clientInfo = { name: config.name, version: config.version ?? VERSION };
    this.#parts = {
      log,
      resolve: createResolver(options),
      hooks: new HookEmitter(log),
      kept: new KeptValues(),
      pool: new UpstreamPool({
        log,
        clientInfo,
        cwd: options.cwd ?? process.cwd(),
        onEvent: (name, event) => reportEvent(this.#parts, name, event),
      }),
      sockets: new Sockets(log),
      faces: new Faces(createEndpointHost(log, parts)),
      scopeHost: createScopeHost(log, parts),
      retiring: new Set(),
      outgoing: new Set(),
      generation: emptyGeneration(config, log),
      listening: false,
      draining: false,
    };
  }

  get name(): string {
    return this.config.name;
  }

  /** The config in force. */
  get config(): GatewayConfig {
    return this.#parts.generation.config;
  }

  /** Counts applied configs, from 1. */
  get generation(): number {
    return this.#parts.generation.number;
  }

  /** Whether new work is being refused. */
  get draining(): boolean {
    return this.#parts.draining;
  }

  /** Calls of the current generation that have not ended yet. */
  get inFlight(): number {
    return this.#parts.generation.inFlight;
  }

  /** Open listeners by name. */
  get addresses(): ReadonlyMap<string, Address> {
    return this.#parts.sockets.addresses;
  }

  /** MCP endpoints with the URL at which they answer. */
  get endpoints(): readonly {
    readonly name: string;
    readonly url: string;
    readonly listener: string;
  }[] {
    return this.describe().endpoints.map(({ name, url, listener }) => ({ name, url, listener }));
  }

  /** Every server by name: upstreams in config order, then plugins. */
  get servers(): ReadonlyMap<string, Provider> {
    return this.#parts.generation.compiled.providers;
  }

  /**
   * Opens the listeners. Resolves once every one accepts connections.
   *
   * @throws {GatewayError} `io_error` when a port cannot be had; the others are closed again
   */
  listen(): Promise<void> {
    return this.#serialise(async () => {
      if (this.draining) throw new GatewayError("draining", "The gateway is closed.");
      if (this.#parts.listening) return;
      const plan = await this.#parts.sockets.plan(this.config);
      plan.commit();
      this.#parts.listening = true;
      serveGeneration(this.#parts);
      this.#parts.hooks.emit("gateway:ready");
    });
  }

  /**
   * Makes a call through the pipeline, as every face does.
   *
   * @throws {GatewayError} `not_found` for an unknown server, or whatever the pipeline decides
   */
  async call(input: CallInput): Promise<Answer> {
    return callLocally(this.#parts, input);
  }

  /**
   * Replaces the config, all or nothing: on a failure everything new is undone and the old config goes on serving. Calls in
   * flight finish on the old one, for at most `timeouts.drain`. One config is applied at a time.
   *
   * @throws {GatewayError} `reload_failed` with the cause and, where known, the place in the file
   */
  apply(config: GatewayConfigInput | GatewayConfig): Promise<ReloadReport> {
    return this.#serialise(async () => {
      if (this.draining) throw new GatewayError("draining", "The gateway is closed.");
      const isReload = this.generation > 0;
      try {
        const report = await applyConfig(this.#parts, parseConfig(config));
        if (isReload) this.#parts.hooks.emit("reload:done", report);
        return report;
      } catch (cause) {
        if (!isReload) throw cause;
        const error = reloadError(toGatewayError(cause));
        this.reportReloadFailure(error);
        throw error;
      }
    });
  }

  /**
   * Tells the log and the hook `reload:failed` that a new config cannot be used: one that never got as far as
   * {@link Gateway.apply}, such as a file with a wrong key. What `apply` refused was told then and is not told again.
   */
  reportReloadFailure(error: GatewayError): void {
    if (this.#told.has(error) || this.#told.has(error.cause as object)) return;
    this.#told.add(error);
    const { place, hint, cause, message } = error;
    const isBug = cause !== undefined && toGatewayError(cause).code === "internal";
    this.#parts.log.error({ place, hint, ...(isBug && { err: cause }) }, message);
    this.#parts.hooks.emit("reload:failed", error);
  }

  /** Listens to a hook until the returned function is called; no reload removes it. */
  hook<K extends keyof GatewayHooks>(name: K, listener: GatewayHooks[K]): () => void {
    return this.#parts.hooks.add({ owner: "application", hook: name, listener });
  }

  /** All plugins' metrics as one Prometheus text page. */
  metrics(): Promise<string> {
    return renderMetrics(this.#parts.generation.scopes);
  }

  /** What runs, as data for a start-up summary. */
  describe(): GatewayDescription {
    return describeGateway(this.#parts.generation, this.addresses, this.#parts.faces.problems);
  }

  /** Refuses new work from now on; calls in flight go on. */
  drain(): void {
    if (this.draining) return;
    this.#parts.draining = true;
    this.#parts.sockets.drain();
    this.#parts.hooks.emit("gateway:drain");
  }

  /**
   * Drains, waits for the calls in flight, aborts the rest, and undoes everything. Safe to call more than once.
   *
   * @param options.grace longest wait in milliseconds; default: `timeouts.grace`
   * @throws {AggregateError} at the end, when any part could not be undone
   */
  close(options: { readonly grace?: number } = {}): Promise<void> {
    this.drain();
    this.#closing ??= this.#serialise(() =>
      shutDown(this.#parts, options.grace ?? this.config.timeouts.grace),
    );
    return this.#closing;
  }

  /** One change at a time, each begun when the one before has ended, however it ended. */
  #serialise<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}

function createResolver({ plugins, resolvePlugin }: GatewayOptions): PluginResolver {
  return (key) => {
    const plugin = plugins && Object.hasOwn(plugins, key) ? plugins[key] : undefined;
    if (plugin) return plugin;
    if (resolvePlugin) return resolvePlugin(key);
    throw new GatewayError("not_found", `There is no plugin "${key}".`, {
      data: { path: `plugins.${key}` },
    });
  };
}
