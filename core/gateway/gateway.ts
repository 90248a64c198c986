import type { GatewayDescription } from "../plugin/description.ts";
import { check, type CheckedConfig } from "../loading/check.ts";
import type { Config } from "../config/config.ts";
import { parseConfig } from "../loading/parse.ts";
import { callLocally, createParts } from "./create-parts.ts";
import { checkAlone, type StartedWith } from "./gateway-options.ts";
import type { CallInput } from "../call/call.ts";
import type { Logger } from "pino";
import { activate, inTurn, reloadIfChanged } from "./activate.ts";
import { metricsOf, takePart } from "./taking-part.ts";
import type { Answer } from "../call/answer.ts";
import type { GatewayConfig, GatewayConfigInput } from "../config/schema.ts";
import { writeConfig } from "../config/written.ts";
import { ConfigWatcher, type WatchTimes } from "../loading/watch.ts";
import { composition, type PluginComposition } from "./composition.ts";
import type { Control, Evicted, EvictOptions } from "../plugin/control.ts";
import { describeGateway } from "./describe.ts";
import { evict } from "./evict.ts";
import { GatewayError } from "../kit/errors.ts";
import type { GatewayHooks, ReloadReport } from "../plugin/hooks.ts";
import { createLogger, tapLog } from "../config/log.ts";
import type { GatewayParts } from "./parts.ts";
import { serveGeneration } from "./reload.ts";
import { openStore } from "./open-store.ts";
import type { Server } from "../call/server.ts";
import { shutDown, shutdownOf } from "./shutdown.ts";
import type { Address } from "../http/listeners.ts";
import type { Principal } from "../kit/types.ts";

/** Where an MCP endpoint answers. */
type EndpointAddress = Pick<GatewayDescription["endpoints"][number], "name" | "url" | "listener">;

/**
 * The running gateway: one config applied at a time, every call through one pipeline. Made by `createGateway`.
 *
 * @example
 * const gateway = await createFileGateway("gateway.yaml");
 * process.once("SIGTERM", () => void gateway.close());
 * await gateway.listen();
 */
export class Gateway {
  readonly #parts: GatewayParts;
  #closing: Promise<void> | undefined;
  readonly #untap: () => void;

  /** Use `createGateway`. */
  private constructor(first: Config, options: StartedWith, log: Logger) {
    this.#parts = createParts(first, options, log);
    const { hooks } = this.#parts;
    const isHeard = (): boolean => hooks.hears("log:line");
    this.#untap = tapLog(log, isHeard, (line) => hooks.emit("log:line", line));
  }

  /** What `createGateway` does with a config that was checked. */
  static async start(checked: CheckedConfig, options: StartedWith): Promise<Gateway> {
    const { config } = checked;
    checkAlone(config, options);
    const log = options.log ?? (await createLogger(config.values.log));
    const gateway = new Gateway(config, options, log);
    try {
      gateway.#parts.store = await openStore(checked, gateway.#parts);
      await activate(gateway.#parts, () => Promise.resolve(checked));
      takePart(gateway.#parts);
      return gateway;
    } catch (error) {
      await gateway.close({ grace: 0 }).catch(() => {});
      throw error;
    }
  }

  get name(): string {
    return this.config.name;
  }

  /** The config in force. To make another one of it, take {@link Gateway.written}. */
  get config(): GatewayConfig {
    return this.#parts.generation.config;
  }

  /** The config in force with its defaults, as people write one: durations and sizes have their unit, so a copy means the same. */
  get written(): GatewayConfigInput {
    return writeConfig(this.config);
  }

  /** Absolute paths of files that plugins read beside the config: texts, and modules without what those import. */
  get sources(): { readonly texts: readonly string[]; readonly code: readonly string[] } {
    const of = (kind: "text" | "code"): readonly string[] =>
      this.#parts.generation.scopes.flatMap(({ sources }) => sources.of(kind));
    return { texts: of("text"), code: of("code") };
  }

  /** What management stands on: reload, plan, edit, describe, reconnect. */
  get control(): Control {
    return this.#parts.scopeHost.control;
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
  get endpoints(): readonly EndpointAddress[] {
    return this.describe().endpoints.map(({ name, url, listener }) => ({ name, url, listener }));
  }

  /** Every server by name: upstreams in config order, then plugins. */
  get servers(): ReadonlyMap<string, Server> {
    return this.#parts.generation.compiled.servers;
  }

  /**
   * Opens the listeners. Resolves once every one accepts connections.
   *
   * @throws {GatewayError} `io_error` when a port cannot be had; the others are closed again
   */
  listen(): Promise<void> {
    return inTurn(this.#parts, async () => {
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
   * Ends what matching principals have open, because a right was taken away: their MCP sessions, event streams and WebSockets on
   * every face, and unless told otherwise their calls in flight. Clients can read the reason. It keeps nobody out: their next
   * request is judged by its credential. A reload that drops a key does this by itself.
   *
   * @param match asked for every principal that has something open; compare {@link Principal.ref}
   * @param reason a sentence for the clients
   * @returns how many of each it ended
   */
  evict(
    match: (principal: Principal) => boolean,
    reason: string,
    options: EvictOptions = {},
  ): Evicted {
    return evict(this.#parts, match, reason, options);
  }

  /**
   * Replaces the config, all or nothing: on a failure everything new is undone and the old config goes on serving. Calls in
   * flight finish on the old one, for at most `timeouts.drain`. One config is applied at a time.
   *
   * @throws {GatewayError} `reload_failed` with the cause and, where known, the place in the file
   */
  async apply(config: GatewayConfigInput): Promise<ReloadReport> {
    const { resolver } = this.#parts;
    return activate(this.#parts, async () => check(await parseConfig(config, resolver), resolver));
  }

  /**
   * Reloads whenever the config file, its `.env` or a local plugin changes, until the gateway drains or the watcher is closed.
   *
   * @throws {GatewayError} `no_config` when the gateway was not made from a file
   */
  async watch(times: WatchTimes = {}): Promise<ConfigWatcher> {
    const { file } = this.#parts;
    if (!file) throw new GatewayError("no_config", "There is no config file to watch.");
    const onChange = (): Promise<void> => reloadIfChanged(this.#parts);
    const files = (): readonly string[] => [
      ...file.files,
      ...this.#parts.generation.scopes.flatMap(({ sources }) => sources.files),
    ];
    const watcher = new ConfigWatcher({ ...times, files, onChange });
    this.hook("gateway:drain", () => void watcher.close());
    await watcher.start();
    // What was saved between the load and the start of the watch.
    await onChange();
    return watcher;
  }

  /** Listens to a hook until the returned function is called; no reload removes it. */
  hook<K extends keyof GatewayHooks>(hook: K, listener: GatewayHooks[K]): () => void {
    return this.#parts.hooks.add({ owner: "application", hook, listener });
  }

  /** All plugins' metrics as one Prometheus text page. */
  metrics(): Promise<string> {
    return metricsOf(this.#parts);
  }

  /** What runs, as data for a start-up summary. */
  describe(): GatewayDescription {
    return describeGateway(this.#parts.generation, this.addresses, this.#parts.seat);
  }

  /** What every plugin brings, in the order of their set-up. */
  composition(): readonly PluginComposition[] {
    return composition(this.#parts.generation);
  }

  /**
   * Says at `/readyz` from now on that the gateway is about to end, with 503, and closes each connection with its next answer. It
   * serves all that comes until {@link drain}: balancers take it out before anything is refused.
   */
  giveNotice(): void {
    this.#parts.sockets.giveNotice();
  }

  /** Refuses new work from now on; calls in flight go on. */
  drain(): void {
    if (this.draining) return;
    this.#parts.draining = true;
    this.#parts.sockets.drain();
    this.#parts.hooks.emit("gateway:drain", shutdownOf(this.#parts.generation));
  }

  /**
   * Drains, waits for the calls in flight, aborts the rest, and undoes everything. Safe to call more than once.
   *
   * @param options.grace longest wait in milliseconds; default: `timeouts.grace`
   * @throws {AggregateError} at the end, when any part could not be undone
   */
  close(options: { readonly grace?: number } = {}): Promise<void> {
    this.drain();
    this.#closing ??= inTurn(this.#parts, () =>
      shutDown(this.#parts, options.grace ?? this.config.timeouts.grace),
    ).finally(this.#untap);
    return this.#closing;
  }
}
