import { inspect } from "node:util";
import type { Logger } from "pino";
import type { Answer } from "../call/answer.ts";
import type { CallInput } from "../call/call.ts";
import type { Server } from "../call/server.ts";
import { type Config, writeConfig } from "../config/config.ts";
import { createLogger, tapLog } from "../config/log.ts";
import type { GatewayConfig, GatewayConfigInput } from "../config/schema.ts";
import { Guesses } from "../http/guesses.ts";
import { type Address, Sockets } from "../http/listeners.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Principal } from "../kit/types.ts";
import { check, type CheckedConfig } from "./check/check.ts";
import { parseConfig } from "./check/parse.ts";
import type { PluginResolver } from "./check/plugin-module.ts";
import type { ConfigSource, ConfigWatch, WatchTimes } from "./check/config-source.ts";
import { Backlog } from "../kit/backlog.ts";
import type { GatewayInfo } from "../plugin/gateway-info.ts";
import type {
  Evicted,
  EvictOptions,
  Management,
  ReloadPlan,
} from "../plugin/management-service.ts";
import type { GatewayDescription } from "../plugin/description.ts";
import type { GatewayHooks, ReloadReport } from "../plugin/hooks.ts";
import { Leases } from "../plugin/leases.ts";
import type { Point } from "../plugin/point.ts";
import { GatewayStore } from "../store/gateway-store.ts";
import { type ChangeOptions, changeConfig, takePart, watchConfig } from "./changes.ts";
import { describeGateway, type EndpointAddress } from "./describe.ts";
import { HookEmitter } from "./emitter.ts";
import { evict } from "./evict.ts";
import { checkAlone, createResolver, cwdOf, type Assembled } from "./gateway-options.ts";
import type { Generation, SourceFiles } from "./generation.ts";
import { createScopeHost, reportEvent } from "./hosts.ts";
import { KeptValues } from "./keep.ts";
import { callLocally } from "./local-call.ts";
import { createInfo } from "./info.ts";
import { openStore } from "./open-store.ts";
import { ServerPool } from "./pool.ts";
import { appOf, Candidate, emptyGeneration, Retirement } from "./reload.ts";
import type { ScopeHost } from "./scope.ts";
import type { Seat } from "./seat.ts";
import { shutDown, shutdownOf } from "./shutdown.ts";

/**
 * The running gateway: one config applied at a time, every call through one pipeline. Made by `createGateway`.
 *
 * @example
 * const gateway = await createFileGateway("gateway.yaml");
 * process.once("SIGTERM", () => void gateway.close());
 * await gateway.listen();
 */
export class Gateway {
  /** @internal */
  readonly log: Logger;
  /** Folder that relative paths in the config start from. @internal */
  readonly cwd: string;
  /** Where the config comes from; absent when the gateway was made from an object. @internal */
  readonly file: ConfigSource | undefined;
  /** Whether it is only set up to be looked at. @internal */
  readonly dryRun: boolean;
  /** Where it is one of several processes. @internal */
  readonly seat: Seat | undefined;
  /** In memory until the first config says where it is. @internal */
  store: GatewayStore;
  /** @internal */
  readonly hooks: HookEmitter;
  /** @internal */
  readonly leases = new Leases();
  /** @internal */
  readonly kept = new KeptValues();
  /** @internal */
  readonly backlog: Backlog;
  /** @internal */
  readonly guesses: Guesses;
  /** @internal */
  readonly pool: ServerPool;
  /** @internal */
  readonly sockets: Sockets;
  /** @internal */
  readonly scopeHost: ScopeHost;
  /** @internal */
  readonly services: Assembled["services"];
  /** What it is, as every plugin sees it. */
  readonly info: GatewayInfo;
  /** @internal */
  readonly retirement: Retirement;
  /** What serves new work; a field, since every call reads it. @internal */
  current: Generation;
  /** The same as {@link draining}; a field, since every call reads it. @internal */
  isDraining = false;
  readonly #resolver: PluginResolver;
  readonly #untap: () => void;
  /** @internal */
  readonly [inspect.custom] = (): object => this.toJSON();
  #isListening = false;
  #turn: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /** Use `createGateway`. */
  private constructor(first: Config, options: Assembled, log: Logger) {
    const { file, dryRun = false, seat } = options;
    const { leases } = this;
    const hooks = new HookEmitter(log);
    this.log = log;
    this.cwd = cwdOf(options);
    this.file = file;
    this.dryRun = dryRun;
    this.seat = seat;
    this.store = GatewayStore.inMemory(log);
    this.hooks = hooks;
    this.retirement = new Retirement(log);
    this.backlog = new Backlog(first.values.limits, (cut) => {
      log.warn(cut, "an answer was cut off: its client does not read it");
      hooks.emit("answer:cut", cut);
    });
    this.guesses = new Guesses((by) => hooks.emit("auth:throttled", by));
    this.pool = new ServerPool({ log, onEvent: (name, event) => reportEvent(this, name, event) });
    const { backlog } = this;
    this.sockets = new Sockets(log, { leases, backlog, createServer: seat?.createServer });
    this.info = createInfo(this);
    this.scopeHost = createScopeHost(this);
    this.services = options.services;
    this.#resolver = createResolver(options);
    this.current = emptyGeneration(first, log);
    const isHeard = (): boolean => hooks.hears("log:line");
    this.#untap = tapLog(log, isHeard, (line) => hooks.emit("log:line", line));
  }

  /** What `createGateway` does with a config that was checked. @internal */
  static async start(checked: CheckedConfig, options: Assembled): Promise<Gateway> {
    const { config } = checked;
    checkAlone(config, options);
    const log = options.log ?? (await createLogger(config.values.log));
    const gateway = new Gateway(config, options, log);
    try {
      gateway.store = await openStore(checked, options, log);
      await changeConfig(gateway, () => Promise.resolve(checked));
      takePart(gateway);
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
    return this.current.config;
  }

  /** The config in force with its defaults, as people write one: durations and sizes have their unit, so a copy means the same. */
  get written(): GatewayConfigInput {
    return writeConfig(this.config);
  }

  /** Absolute paths of files that plugins read beside the config: texts, and modules without what those import. */
  get sources(): SourceFiles {
    return this.current.sources;
  }

  /** Without the config, in which secrets stand. */
  toJSON(): object {
    return { name: this.name, generation: this.current.number };
  }

  /** Whether new work is being refused. */
  get draining(): boolean {
    return this.isDraining;
  }

  /** Calls of the current generation that have not ended yet. */
  get inFlight(): number {
    return this.current.inFlight;
  }

  /** Those with calls in flight, the current one first. @internal */
  get generations(): readonly Generation[] {
    return [this.current, ...this.retirement.generations];
  }

  /** Open listeners by name. */
  get addresses(): ReadonlyMap<string, Address> {
    return this.sockets.addresses;
  }

  /** MCP endpoints with the URL at which they answer. */
  get endpoints(): readonly EndpointAddress[] {
    return this.describe().endpoints.map(({ name, url, listener }) => ({ name, url, listener }));
  }

  /** Every server by name: upstreams in config order, then plugins. */
  get servers(): ReadonlyMap<string, Server> {
    return this.current.compiled.servers;
  }

  /**
   * Opens the listeners. Resolves once every one accepts connections.
   *
   * @throws {GatewayError} `io_error` when a port cannot be had; the others are closed again
   */
  listen(): Promise<void> {
    return this.inTurn(async () => {
      if (this.isDraining) throw new GatewayError("draining", "The gateway is closed.");
      if (this.#isListening) return;
      const plan = await this.sockets.plan(this.config);
      plan.commit();
      this.#isListening = true;
      this.#serve();
      this.hooks.emit("gateway:ready");
    });
  }

  /**
   * Makes a call through the pipeline, as every interface does.
   *
   * @throws {GatewayError} `not_found` for an unknown server, or whatever the pipeline decides
   */
  async call(input: CallInput): Promise<Answer> {
    return callLocally(this.current, this.leases, input);
  }

  /**
   * Ends what matching principals have open, because a right was withdrawn: their MCP sessions, event streams and WebSockets on
   * every interface, and unless told otherwise their calls in flight. Clients can read the reason. It does not lock them out: their next
   * request is judged by its credential. A reload that drops a key does this on its own.
   *
   * @param match asked for every principal that has something open; compare {@link Principal.ref}
   * @param reason a sentence for the clients
   * @returns how many of each it ended
   */
  evict(match: (principal: Principal) => boolean, reason: string, options?: EvictOptions): Evicted {
    return evict(this, match, reason, options);
  }

  /**
   * Replaces the config, all or nothing: on a failure everything new is undone and the old config goes on serving. Calls in
   * flight finish on the old one, for at most `timeouts.drain`. One config is applied at a time.
   *
   * @throws {GatewayError} `reload_failed` with the cause and, where known, the place in the file
   */
  async apply(config: GatewayConfigInput): Promise<ReloadReport> {
    const resolver = this.#resolver;
    return changeConfig(this, async () => check(await parseConfig(config, resolver), resolver));
  }

  /**
   * Puts a config into force, all or nothing: prepare, open, swap, drain and dispose the old.
   *
   * @throws {GatewayError} what is wrong with it; everything new is undone, and the old generation never stopped serving
   * @internal
   */
  async activate(
    checked: CheckedConfig,
    { unlessSame = false, commit }: ChangeOptions = {},
  ): Promise<ReloadReport> {
    const candidate = await Candidate.prepare(this, checked);
    if (this.current.number === 0) this.current = candidate.beforehand;
    const isApplied = !(unlessSame && candidate.isInForce);
    try {
      if (isApplied) await candidate.open(this.#isListening);
      await commit?.();
    } catch (error) {
      await candidate.abort();
      throw error;
    }
    if (isApplied) await this.#swap(candidate);
    else this.current.places = candidate.places;
    this.file?.adopt(checked.config);
    const at = new Date().toISOString();
    return { ...candidate.changes, applied: isApplied, generation: this.current.number, at };
  }

  /** What putting a config into force would change: it is prepared, and taken back. Nothing of it runs meanwhile. @internal */
  async plan(checked: CheckedConfig): Promise<ReloadPlan> {
    const candidate = await Candidate.prepare(this, checked);
    await candidate.abort();
    return candidate.changes;
  }

  /** One piece of work on the gateway as a whole at a time, each begun when the previous one has ended, however it ended. @internal */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  /** Everything up to the first `await` happens at once: no request meets half a generation. */
  async #swap(candidate: Candidate): Promise<void> {
    const { current: old, kept, retirement } = this;
    const { generation } = candidate;
    const { drain } = generation.config.timeouts;
    const earlier = retirement.work;
    this.current = generation;
    const closing = candidate.commitSockets();
    this.hooks.swap(generation.compiled.hooks);
    generation.compiled.endpointServer.update(generation.compiled.endpoints);
    this.#serve();
    retirement.await(old, drain);
    if (candidate.dropped) this.#evictDropped(candidate.dropped);
    // A middleware may still hold a call that an old generation will send to a replaced server.
    void retirement.track(candidate.commitServers(drain, retirement.arrived));
    for (const listener of closing) retirement.close(listener, drain);
    const keys = new Set(generation.scopes.map(({ key }) => key));
    const dropped = kept.take(kept.plugins.filter((key) => !keys.has(key)));
    const scopes = old.scopes.filter((scope) => !generation.scopes.includes(scope));
    const retired = retirement.retire(old, { earlier, scopes, dropped });
    // A call may apply a config itself, so one that is still in flight must not be waited for.
    if (old.inFlight === 0 && earlier.length === 0) await retired;
  }

  /** Ends what is open on credentials that a new config took away. */
  #evictDropped(dropped: (principal: Principal) => boolean): void {
    const reason = "The credential is no longer valid: the configuration has changed.";
    const ended = this.evict(dropped, reason, { withdraw: true });
    this.log.info(ended, "credentials were removed: their sessions, streams and calls have ended");
  }

  /** Points every open listener at the current generation. */
  #serve(): void {
    this.sockets.swap((listener) => appOf(this, this.current, listener));
  }

  /**
   * Reloads whenever the config file, its `.env` or a local plugin changes, until the gateway drains or the watcher is closed.
   *
   * @throws {GatewayError} `no_config` when the gateway was not made from a file
   */
  watch(times: WatchTimes = {}): Promise<ConfigWatch> {
    return watchConfig(this, times);
  }

  /** Listens to a hook until the returned function is called; no reload removes it. */
  hook<K extends keyof GatewayHooks>(hook: K, listener: GatewayHooks[K]): () => void {
    return this.hooks.add({ owner: "application", hook, listener });
  }

  /** What plugins have added to a point, in the order of the plugins, in the config in force. */
  point<R>(point: Point<never, R>): readonly R[] {
    return this.current.compiled.points.of(point);
  }

  /** What runs, as data for a start-up summary. */
  describe(): GatewayDescription {
    return describeGateway(this.current, this.addresses, this.seat);
  }

  /**
   * What manages it: reload, plan, edit, reconnect, evict. A plugin gets it by `inject`.
   *
   * @example await (await gateway.manage()).reload();
   */
  manage(): Promise<Management> {
    return this.services.management(this);
  }

  /**
   * Says at `/readyz` from now on that the gateway is about to end, with 503, and closes each connection with its next answer. It
   * serves all that comes until {@link drain}: balancers take it out before anything is refused.
   */
  giveNotice(): void {
    this.sockets.giveNotice();
  }

  /** Refuses new work from now on; calls in flight go on. */
  drain(): void {
    if (this.isDraining) return;
    this.isDraining = true;
    this.sockets.drain();
    this.hooks.emit("gateway:drain", shutdownOf(this.current));
  }

  /**
   * Drains, waits for the calls in flight, aborts the rest, and undoes everything. Safe to call more than once.
   *
   * @param options.grace longest wait in milliseconds; default: `timeouts.grace`
   * @throws {AggregateError} at the end, when any part could not be undone
   */
  close(options: { readonly grace?: number } = {}): Promise<void> {
    this.drain();
    this.#closing ??= this.inTurn(() =>
      shutDown(this, options.grace ?? this.config.timeouts.grace),
    ).finally(this.#untap);
    return this.#closing;
  }
}
