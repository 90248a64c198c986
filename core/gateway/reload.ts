import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import { InFlightSet } from "../kit/cancellation.ts";
import type { Abortion } from "../call/pipeline.ts";
import { droppedBetween } from "../http/authenticator.ts";
import { uncheckedCredentials } from "../config/defaults.ts";
import type { Config } from "../config/config.ts";
import { invalidConfig } from "../config/issue.ts";
import type { GatewayConfig } from "../config/schema.ts";
import type { Guesses } from "../http/guesses.ts";
import type { AppInput } from "../http/app.ts";
import type { Listener } from "../http/listener.ts";
import { defaultListener } from "../http/route-table.ts";
import type { SocketPlan, Sockets } from "../http/listeners.ts";
import type { CheckedConfig } from "./check/check.ts";
import type { ConfigSource } from "./check/config-source.ts";
import { selectorsOf } from "./check/selectors.ts";
import type { ReloadPlan } from "../plugin/management-service.ts";
import type { Leases } from "../plugin/leases.ts";
import { Checks, Pages } from "../plugin/kernel-points.ts";
import type { Check } from "../plugin/plugin-checks.ts";
import type { GatewayStore } from "../store/gateway-store.ts";
import { compile, type Compiled } from "./compile.ts";
import type { HookEmitter } from "./emitter.ts";
import { Generation } from "./generation.ts";
import { type KeptValues, Unwinding } from "./keep.ts";
import { type ServerPlan, type ServerPool, typedServers } from "./pool.ts";
import { disposeScope, type Scope, type ScopeHost, startScope } from "./scope.ts";
import type { Seat } from "./seat.ts";
import { blame, buildScopes, comparePlugins, extendConfig, withTimeout } from "./setup.ts";
import { refuseUnknownNames } from "./unknown-names.ts";

/**
 * How many times longer a plugin may take when the gateway starts: a runtime with ten thousand tasks in a store reads all of them, on a
 * machine where other gateways start as well.
 */
const FIRST_START = 6;

/** Settings that were read once, when the gateway was made. */
const FIXED = ["name", "version", "publicUrl", "store", "workers", "limits", "log"] as const;

/** What a config is set up beside: the generation that serves, and what outlives it. */
export interface Base {
  readonly current: Generation;
  readonly file: ConfigSource | undefined;
  readonly guesses: Guesses;
  readonly kept: KeptValues;
  readonly log: Logger;
  readonly pool: ServerPool;
  readonly scopeHost: ScopeHost;
  readonly seat: Seat | undefined;
  readonly sockets: Sockets;
}

/** What a generation is made of. */
interface Prepared {
  readonly config: Config;
  readonly generation: Generation;
  /** Scopes that the generation before does not have. */
  readonly fresh: readonly Scope[];
  readonly servers: ServerPlan;
  readonly changes: ReloadPlan;
  /** Tells whose credentials it removes; `undefined` when it is nobody's. */
  readonly dropped: ReturnType<typeof droppedBetween>;
}

/** A generation that is set up and does not serve yet. It is put into force, taken back, or given up where it is in force already. */
export class Candidate {
  readonly generation: Generation;
  /** What putting it into force changes. */
  readonly changes: ReloadPlan;
  readonly #base: Base;
  readonly #prepared: Prepared;
  readonly #undo: Unwinding;
  #sockets: SocketPlan | undefined;

  private constructor(base: Base, prepared: Prepared, undo: Unwinding) {
    this.generation = prepared.generation;
    this.changes = prepared.changes;
    this.#base = base;
    this.#prepared = prepared;
    this.#undo = undo;
  }

  /**
   * Sets up what is new or changed, and makes of it what will serve. Opens, starts and connects nothing.
   *
   * @throws {GatewayError} what is wrong with the config; whatever was made is undone
   */
  static async prepare(base: Base, checked: CheckedConfig): Promise<Candidate> {
    const undo = new Unwinding();
    try {
      return new Candidate(base, await prepare(base, checked, undo), undo);
    } catch (error) {
      await unwind(undo, base.log);
      throw error;
    }
  }

  /** Whether the generation that serves is the same. */
  get isInForce(): boolean {
    const { generation, changes } = this;
    const isWritten = isDeepStrictEqual(generation.written, this.#base.current.written);
    return isWritten && changes.plugins.changed.length === 0;
  }

  /** What serves until the first config is in force; it knows the people of that one, whom plugins ask about while they start. */
  get beforehand(): Generation {
    return emptyGeneration(this.#prepared.config, this.#base.log, this.generation);
  }

  /** Tells whose credentials it removes. */
  get dropped(): Prepared["dropped"] {
    return this.#prepared.dropped;
  }

  /** The same may stand on other lines now. */
  get places(): Generation["places"] {
    return this.#prepared.config.places;
  }

  /**
   * Starts the plugins, and their servers when they have started.
   *
   * @param isListening whether to open its listeners before
   */
  async open(isListening: boolean): Promise<void> {
    const { config, fresh, servers } = this.#prepared;
    const opened = isListening ? await this.#base.sockets.plan(config.values) : undefined;
    this.#sockets = opened;
    this.#undo.add(() => opened?.abort());
    const isFirst = this.#base.current.number === 0;
    const limit = config.values.timeouts.setup * (isFirst ? FIRST_START : 1);
    for (const scope of this.generation.scopes) {
      if (fresh.includes(scope)) await start(scope, config, limit);
      servers.start(scope);
    }
  }

  /** Takes the listeners in; returns those to be closed once their calls are done. */
  commitSockets(): readonly Listener[] {
    return this.#sockets?.commit() ?? [];
  }

  /** Puts the servers to use; see {@link ServerPlan.commit}. */
  commitServers(drainMs: number, arrived: Promise<unknown>): Promise<void> {
    return this.#prepared.servers.commit(drainMs, arrived);
  }

  /** Undoes everything, last done first; the generation before never stopped serving. */
  abort(): Promise<void> {
    return unwind(this.#undo, this.#base.log);
  }
}

/**
 * What serves before the first config is applied: nothing. Nobody gets in where the config has credentials.
 *
 * @param first the generation to come, once it is prepared: what plugins ask about people while they start is judged by it
 */
export function emptyGeneration(config: Config, log: Logger, first?: Generation): Generation {
  const running = new InFlightSet<Abortion>();
  const nothing = config.with({ servers: {}, endpoints: {}, insecure: true });
  const compiled = compile({ config: nothing, scopes: [], servers: new Map(), running, log });
  return new Generation({
    number: 0,
    written: config.values,
    config: config.values,
    places: config.places,
    scopes: [],
    compiled: { ...compiled, ...(first && peopleOf(first.compiled)) },
    running,
  });
}

function peopleOf({ authenticators, guard, open }: Compiled): Partial<Compiled> {
  return { authenticators, guard, open };
}

/**
 * Credentials that nothing checks would leave the gateway open, or closed for everybody.
 *
 * @throws {GatewayError} `invalid` for them, at their place
 */
function refuseUnchecked(config: Config, { authenticators }: Compiled): void {
  const own = authenticators.filter(({ plugin }) => plugin === undefined);
  const issues = uncheckedCredentials(
    config.values.auth,
    own.map(({ name }) => name),
  );
  if (issues.length > 0) throw invalidConfig(issues.map((issue) => config.place(issue)));
}

async function prepare(base: Base, checked: CheckedConfig, undo: Unwinding): Promise<Prepared> {
  const { current: old, kept, pool, scopeHost: host, log, guesses, seat } = base;
  const snapshot = kept.snapshot();
  undo.add(() => kept.restore(snapshot));
  const fresh: Scope[] = [];
  const onCreate = (scope: Scope): void => {
    fresh.push(scope);
    undo.add(() => disposeScope(scope));
  };
  const scopes = await buildScopes({ checked, current: old.scopes, host, onCreate });
  const config = extendConfig(checked.config, scopes);
  const plan = pool.plan(typedServers(config, scopes));
  undo.add(() => plan.abort());
  const running = new InFlightSet<Abortion>();
  const selecting = checked.plugins.filter(({ needs }) => needs.selectors !== undefined);
  const generation = new Generation({
    number: old.number === 0 ? (seat?.generation ?? 1) : old.number + 1,
    written: checked.config.values,
    config: config.values,
    places: config.places,
    scopes,
    selectors: selecting.length === 0 ? [] : selectorsOf(selecting),
    compiled: compile({ config, scopes, servers: plan.servers, running, log, guesses }),
    running,
  });
  refuseUnchecked(config, generation.compiled);
  if (generation.selectors.length > 0) refuseUnknownNames(generation);
  const changes = {
    plugins: comparePlugins(old.scopes, scopes),
    servers: plan.changes,
    restartRequired: needingRestart(base, generation),
  };
  const dropped = old.number > 0 ? droppedBetween(old.credits, generation.credits) : undefined;
  return { config, generation, fresh, servers: plan, changes, dropped };
}

async function start(scope: Scope, config: Config, limit: number): Promise<void> {
  try {
    await withTimeout(startScope(scope), limit, "start");
  } catch (error) {
    throw blame(scope.name, "could not be started", error, { key: scope.key, config });
  }
}

async function unwind(undo: Unwinding, log: Logger): Promise<void> {
  for (const failure of await undo.run())
    log.error({ err: failure }, "a config that was not applied left something behind");
}

/** What only a restart applies, as config paths. */
function needingRestart(
  { current: old, file, sockets }: Base,
  { config, written }: Generation,
): readonly string[] {
  return [
    ...sockets.restartRequired(config),
    ...(old.number > 0 ? fixedSettings(old.written, written) : []),
    ...replacedPlugins(file, written),
  ];
}

function fixedSettings(before: GatewayConfig, after: GatewayConfig): string[] {
  return FIXED.filter((key) => !isDeepStrictEqual(before[key], after[key]));
}

/** Plugins of a config that still run the code of the package that was replaced. */
function replacedPlugins(file: ConfigSource | undefined, { plugins }: GatewayConfig): string[] {
  const used = (file?.replaced ?? []).filter((key) => (plugins[key] ?? false) !== false);
  return used.map((key) => `plugins.${key}`);
}

/** What leaves with an old generation. */
interface Leaving {
  /** Retirements under way: their calls may use the same scopes. Their drain times run beside this one's. */
  readonly earlier: readonly Promise<void>[];
  readonly scopes: readonly Scope[];
  readonly dropped: Unwinding;
}

/** What goes on behind reloads: old generations on their way out, and what leaves with them. */
export class Retirement {
  readonly #log: Logger;
  /** Generations whose calls may still be in flight, with the wait for these; `false` = the drain time is over. */
  readonly #generations = new Map<Generation, Promise<boolean>>();
  readonly #listeners = new Set<Listener>();
  readonly #work = new Set<Promise<void>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Old ones whose calls may still be in flight. */
  get generations(): readonly Generation[] {
    return [...this.#generations.keys()];
  }

  /** Those that a reload took away; answers may still be in flight on them. */
  get listeners(): readonly Listener[] {
    return [...this.#listeners];
  }

  /** Resolves when no call is on its way from an old generation any more. */
  get arrived(): Promise<unknown> {
    return Promise.all(this.#generations.values());
  }

  /** What is under way. */
  get work(): readonly Promise<void>[] {
    return [...this.#work];
  }

  /** Begins to wait for the calls of a generation that was replaced, at most so many milliseconds. */
  await(old: Generation, drainMs: number): void {
    this.#generations.set(old, old.whenIdle(drainMs));
  }

  /** Closes a listener after its calls in flight, at most so many milliseconds later. */
  close(listener: Listener, drainMs: number): void {
    this.#listeners.add(listener);
    const closed = this.track(listener.close(drainMs));
    void closed.finally(() => this.#listeners.delete(listener));
  }

  /** Undoes what the new generation did not take over, when the calls of the old one have ended; never rejects. */
  retire(old: Generation, leaving: Leaving): Promise<void> {
    return this.track(this.#retire(old, leaving));
  }

  /** Remembers something, so that a shutdown waits for it. Never rejects. */
  track(work: Promise<void>): Promise<void> {
    const tracked = work
      .catch((error: unknown) =>
        this.#log.error({ err: error }, "something of the old configuration could not be closed"),
      )
      .finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
    return tracked;
  }

  async #retire(old: Generation, { earlier, scopes, dropped }: Leaving): Promise<void> {
    if (!(await this.#generations.get(old))) {
      this.#log.warn(
        { calls: old.inFlight },
        "the drain time is over: calls of the old configuration are aborted",
      );
      old.abort();
    }
    this.#generations.delete(old);
    await Promise.all(earlier);
    for (const scope of scopes.toReversed()) await disposeScope(scope);
    for (const error of await dropped.run())
      this.#log.error({ err: error }, "a kept value could not be disposed");
  }
}

/** What a gateway serves with, through all its generations. */
export interface Serving {
  readonly hooks: HookEmitter;
  readonly leases: Leases;
  readonly log: Logger;
  readonly seat: Seat | undefined;
  readonly store: GatewayStore;
}

/** What one listener serves of a generation. */
export function appOf(
  { hooks, leases, log, seat, store }: Serving,
  { compiled, config }: Generation,
  listener: string,
): AppInput {
  return {
    name: config.name,
    routes: compiled.routes.get(listener) ?? [],
    endpoints: compiled.endpointServer.handlersOf(listener),
    sockets: compiled.sockets.get(listener) ?? new Map(),
    page: listener === defaultListener(config) ? compiled.points.of(Pages)[0] : undefined,
    checks: [
      ...compiled.points.of(Checks),
      ...storeChecks(store, config.timeouts.store),
      ...(seat ? [seat.check] : []),
    ],
    guard: compiled.guard,
    bodyLimit: config.limits.body,
    maxDepth: config.limits.depth,
    leases,
    log,
    onMutation: (mutation) => hooks.emit("mutation", mutation),
  };
}

/**
 * Whether the store has been away for too long; a gateway whose store is its own memory says nothing of it.
 *
 * @param limit in milliseconds
 */
function storeChecks({ connection }: GatewayStore, limit: number): readonly Check[] {
  if (!connection.driver.durable) return [];
  const isAway = (): boolean => connection.awayFor > limit;
  return [{ name: "store", ask: () => (isAway() ? "The store does not answer." : undefined) }];
}
